#include <fmt/format.h>

#include <algorithm>

#include "base/json_text.hpp"
#include "base/text.hpp"
#include "ingest/csv_text.hpp"
#include "ingest/metric_reader.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kColumnsNamed = 20;

/// A column of CSV files, as Lightning's CSVLogger writes them: an empty cell is no value. Reads rows that `where` names. A
/// header may appear again with other columns.
class ColumnReader : public MetricReader {
 public:
  explicit ColumnReader(const Metric& spec)
      : MetricReader(spec),
        csv_([this](long long line, std::vector<std::string>& cells) { take_row(line, cells); },
             [this](long long line, const std::string& text) { warn_at_line(line, text); }) {}

  void feed(std::string_view piece) override { csv_.feed(piece); }

 private:
  void begin_file() override {
    header_.clear();
    value_.reset();
    index_.reset();
    conditions_.clear();
    missing_.reset();
    found_column_ = false;
    taker_.numbers().begin_file(
        [this] { return find_mark_ && value_ ? find_mark_(MarkEvidence(csv_.delimiter(), *value_)) : DecimalMark::unknown; });
  }
  void end_file() override {
    csv_.finish();
    if (missing_ && !found_column_) warn_of_column(missing_->first, spec_.selector, missing_->second);
  }

  std::optional<std::size_t> find_column(const std::string& name) const {
    const auto found = std::find(header_.begin(), header_.end(), name);
    return found == header_.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - header_.begin()));
  }

  /// The column, or for `env/THREADS` the column `env` whose cells are JSON.
  std::optional<std::size_t> find_value() {
    member_.clear();
    if (const auto column = find_column(spec_.selector)) return column;
    const std::string bare = spec_.selector.starts_with('#') ? std::string(trim(spec_.selector.substr(1))) : "";
    if (const auto column = find_column(bare); column && !bare.empty()) return column;
    const std::size_t slash = spec_.selector.find('/');
    const auto column = slash == std::string::npos ? std::nullopt : find_column(spec_.selector.substr(0, slash));
    if (column) member_ = spec_.selector.substr(slash);
    return column;
  }

  void take_header(long long line, std::vector<std::string>& cells) {
    header_ = std::move(cells);
    delimiter_ = csv_.delimiter();
    conditions_.clear();
    index_.reset();
    value_ = find_value();
    if (value_) {
      found_column_ = true;
    } else if (found_column_) {
      warn_of_column(line, spec_.selector, header_);
    } else if (!missing_) {
      missing_.emplace(line, header_);  // a later header may have it
    }
    if (!spec_.index.empty()) index_ = find_column(spec_.index);
    if (!spec_.index.empty() && !index_) warn_of_column(line, spec_.index, header_);
    for (const auto& [name, values] : spec_.where) {
      const std::optional<std::size_t> column = find_column(name);
      if (column) conditions_.emplace_back(*column, &values);
      if (column) continue;
      warn_of_column(line, name, header_);
      value_.reset();  // it is unknown which rows count
    }
  }

  void warn_of_column(long long line, const std::string& name, const std::vector<std::string>& header) {
    std::vector<std::string> there(header.begin(),
                                   header.begin() + static_cast<std::ptrdiff_t>(std::min(header.size(), kColumnsNamed)));
    const std::string cut = delimiter_ == ','    ? ""
                            : delimiter_ == '\t' ? " (cut at tabs)"
                                                 : fmt::format(" (cut at `{}`)", delimiter_);
    warn_at_line(line, fmt::format("no column {}{}; there are{}: {}", printable(name), did_you_mean(name, header), cut,
                                   printable(join(there, ", ")) + (there.size() < header.size() ? " ..." : "")));
  }

  bool is_meant(const std::vector<std::string>& cells) const {
    return std::all_of(conditions_.begin(), conditions_.end(),
                       [&](const auto& condition) { return is_one_of(cells[condition.first], *condition.second); });
  }

  void take_row(long long line, std::vector<std::string>& cells) {
    if (header_.empty() || is_other_header(header_, cells)) {
      take_header(line, cells);
      return;
    }
    if (!value_ || cells == header_) return;
    if (cells.size() != header_.size()) {
      warn_at_line(line, fmt::format("{} cells under a header of {}", cells.size(), header_.size()));
      return;
    }
    const std::string& cell = cells[*value_];
    if (cell.empty()) return;
    if (!is_meant(cells)) {
      taker_.leave_out();
      return;
    }
    std::optional<std::string_view> index;
    if (index_) {
      index = cells[*index_];
      if (!taker_.numbers().read_index(*index) && (index->empty() || !may_have_words(spec_))) {
        warn_at_line(line, fmt::format("{} is no number that could number a series: {}", printable(spec_.index),
                                       printable(index->substr(0, 60))));
        return;
      }
    }
    if (member_.empty()) {
      found_at_line(line, taker_.take_text(cell, index));
      return;
    }
    const std::optional<std::string> member = json_text_at(cell, member_);
    if (member) found_at_line(line, taker_.take_text(*member, index));
    if (!member && !is_json(cell)) {
      taker_.take_no_number(cell, "the cell is not JSON");
      found_at_line(line, false);
    }
  }

  CsvReader csv_;
  char delimiter_ = ',';  // of the last header
  std::vector<std::string> header_;
  std::string member_;         // a JSON pointer into the cell; empty: the cell itself
  bool found_column_ = false;  // in a header of this file
  std::optional<std::pair<long long, std::vector<std::string>>> missing_;  // the first header without the column, and its line
  std::optional<std::size_t> value_, index_;
  std::vector<std::pair<std::size_t, const std::vector<Value>*>> conditions_;  // columns of `where`
};

}  // namespace

std::unique_ptr<MetricReader> make_column_reader(const Metric& spec) { return std::make_unique<ColumnReader>(spec); }

}  // namespace hpcbench
