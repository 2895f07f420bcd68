#include "scan/table_scan.hpp"

#include <algorithm>
#include <optional>

#include "base/text.hpp"
#include "base/written_number.hpp"
#include "scan/metric_name.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kMostScannedColumns = 1000;

WrittenNumber read_cell(const std::string& cell) {
  const WrittenNumber number = read_written_number(cell, DecimalMark::unknown);
  if (number.kind != WrittenNumber::Kind::none && number.kind != WrittenNumber::Kind::unclear) return number;
  return read_written_number(cell, DecimalMark::comma);
}

}  // namespace

TableScan::TableScan()
    : csv_(
          [this](long long line, std::vector<std::string>& cells) {
            lines_ = line;
            take_row(cells);
          },
          [](long long, const std::string&) {}) {}

void TableScan::take_row(std::vector<std::string>& cells) {
  if (header_.empty() || is_other_header(header_, cells)) {
    header_ = cells;
    for (const std::string& name : header_) {
      if (columns_.size() < kMostScannedColumns) columns_.try_emplace(name, Column{columns_.size(), {}, 0, false, {}});
    }
    return;
  }
  if (cells == header_) return;
  ++(cells.size() == header_.size() ? rows_ : misfits_);
  if (cells.size() != header_.size()) return;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto column = columns_.find(header_[i]);
    if (column == columns_.end() || cells[i].empty()) continue;
    const WrittenNumber number = read_cell(cells[i]);
    if (number.kind == WrittenNumber::Kind::number) {
      column->second.seen.add(number.value, lines_, cells[i].find_first_of(".,:") != std::string::npos);
      column->second.is_duration = column->second.is_duration || number.is_duration;
      if (!number.unit.empty()) ++column->second.units[number.unit];
    } else if (number.kind == WrittenNumber::Kind::none) {
      ++column->second.words;
    }
  }
}

bool TableScan::may_be_header(std::string_view line) {
  constexpr std::size_t kFewestHeadings = 3, kLongestHeading = 40;
  for (const char delimiter : {'|', ',', ';', '\t'}) {
    const std::vector<std::string> cells = split(trim(line), delimiter);
    const bool are_headings = std::all_of(cells.begin(), cells.end(), [](const std::string& cell) {
      const std::string_view text = trim(cell);
      return !text.empty() && text.size() <= kLongestHeading && text.find_first_of(":={}") == std::string_view::npos &&
             !(text.front() >= '0' && text.front() <= '9');
    });
    if (cells.size() >= kFewestHeadings && are_headings) return true;
  }
  return false;
}

std::vector<Candidate> TableScan::finish() {
  csv_.finish();
  std::string index, series;  // steps before epochs, else a first column of words
  for (const auto& [name, column] : columns_) {
    const std::string meaning = index_name(parse_label(name).name);
    const bool is_better = meaning == "step" ? series != "step" : !meaning.empty() && series.empty();
    if (column.seen.count > 1 && column.words == 0 && is_better) {
      index = name;
      series = meaning;
    }
    const std::string plain = parse_label(name).name;
    const bool is_date = plain.find("time") != std::string::npos || plain.find("date") != std::string::npos;
    if (column.place == 0 && column.words > 1 && column.seen.count == 0 && index.empty() && !plain.empty() && !is_date) {
      index = name;
      series = plain == "step" || plain == "epoch" ? "row" : plain;
    }
  }
  std::vector<Candidate> candidates;
  for (const auto& [name, column] : columns_) {
    if (name.empty() || column.seen.count <= column.words) continue;
    const LabelParts parts = parse_label(name);
    Metric metric;
    metric.source = "column";
    metric.selector = name;
    metric.unit = plain_unit(column.is_duration ? "s" : column.units.empty() ? parts.unit : column.units.begin()->first);
    metric.name = metric_name(parts.name, metric.unit);
    if (name != index && !index.empty()) {
      metric.index = index;
      metric.series = series;
    }
    Candidate candidate;
    candidate.forms = {metric};
    metric.index.clear();  // rows without an index count, too
    metric.series.reset();
    candidate.forms.push_back(metric);
    candidate.seen = column.seen;
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

}  // namespace hpcbench
