#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "ingest/csv_text.hpp"
#include "ingest/metric_reader.hpp"
#include "ingest/metric_scan.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kColumnsNamed = 20;

/// A column of CSV files, as Lightning's CSVLogger writes them: an empty cell is no value. Of rows those that `where` means.
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
  }
  void end_file() override { csv_.finish(); }

  std::optional<std::size_t> find_column(const std::string& name) const {
    const auto found = std::find(header_.begin(), header_.end(), name);
    return found == header_.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - header_.begin()));
  }

  void take_header(long long line, std::vector<std::string>& cells) {
    header_ = std::move(cells);
    value_ = find_column(spec_.selector);
    if (!value_) warn_of_column(line, spec_.selector);
    if (!spec_.index.empty()) index_ = find_column(spec_.index);
    if (!spec_.index.empty() && !index_) warn_of_column(line, spec_.index);
    for (const auto& [name, values] : spec_.where) {
      const std::optional<std::size_t> column = find_column(name);
      if (column) conditions_.emplace_back(*column, &values);
      if (column) continue;
      warn_of_column(line, name);
      value_.reset();  // nobody knows which rows are meant
    }
  }

  void warn_of_column(long long line, const std::string& name) {
    std::vector<std::string> there(header_.begin(),
                                   header_.begin() + static_cast<std::ptrdiff_t>(std::min(header_.size(), kColumnsNamed)));
    warn_at_line(line, fmt::format("no column {}{}; there are: {}", printable(name), did_you_mean(name, header_),
                                   printable(join(there, ", ")) + (there.size() < header_.size() ? " ..." : "")));
  }

  bool is_meant(const std::vector<std::string>& cells) const {
    return std::all_of(conditions_.begin(), conditions_.end(),
                       [&](const auto& condition) { return is_one_of(cells[condition.first], *condition.second); });
  }

  void take_row(long long line, std::vector<std::string>& cells) {
    if (header_.empty()) {
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
      if (!parse_metric_number(*index) && (index->empty() || !may_have_words(spec_))) {
        warn_at_line(line, fmt::format("{} is no number that could number a series: {}", printable(spec_.index),
                                       printable(index->substr(0, 60))));
        return;
      }
    }
    found_at_line(line, taker_.take_text(cell, index));
  }

  CsvReader csv_;
  std::vector<std::string> header_;
  std::optional<std::size_t> value_, index_;
  std::vector<std::pair<std::size_t, const std::vector<Value>*>> conditions_;  // columns of `where`
};

}  // namespace

std::unique_ptr<MetricReader> make_column_reader(const Metric& spec) { return std::make_unique<ColumnReader>(spec); }

}  // namespace hpcbench
