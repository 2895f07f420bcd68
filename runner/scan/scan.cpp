#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "ingest/line_reader.hpp"
#include "ingest/metric_reader.hpp"
#include "scan/json_scan.hpp"
#include "scan/proposal.hpp"
#include "scan/table_scan.hpp"
#include "scan/text_scan.hpp"
#include "spec/experiment.hpp"

namespace hpcbench {

namespace {

using Feed = std::function<std::optional<std::string>(const std::function<void(std::string_view)>&)>;
using Read = std::function<MetricMatches(const Metric&)>;

struct Found {
  std::vector<Candidate> candidates;
  long long lines = 0;
  bool is_partial = false;  // counts are too low
};

template <typename Form>
Found find_in(Form& form, const Feed& feed, std::vector<std::string>& warnings) {
  const std::optional<std::string> problem = feed([&](std::string_view piece) { form.feed(piece); });
  if (problem) warnings.push_back(*problem);
  return {form.finish(), form.lines()};
}

Found find_in_log(const Feed& feed, std::vector<std::string>& warnings) {
  TextScan text;
  JsonScan json(true);
  TableScan table;
  std::optional<bool> may_be_table;
  const std::optional<std::string> problem = feed([&](std::string_view piece) {
    if (!may_be_table) may_be_table = TableScan::may_be_header(piece.substr(0, piece.find('\n')));
    if (*may_be_table) table.feed(piece);
    text.feed(piece);
    json.feed(piece);
  });
  if (problem) warnings.push_back(*problem);
  if (may_be_table.value_or(false)) {
    std::vector<Candidate> columns = table.finish();
    if (table.is_table() && !columns.empty()) return {std::move(columns), table.lines(), false};
  }
  Found found{json.finish(), text.lines(), text.is_partial()};
  for (Candidate& candidate : text.finish()) {
    const bool is_in_json =
        json.last_line() > 0 && candidate.seen.first_line >= json.first_line() && candidate.seen.last_line <= json.last_line();
    if (!is_in_json) found.candidates.push_back(std::move(candidate));
  }
  return found;
}

bool is_usual(const char* source, const std::string& name) { return find_metric_source(source)->is_usual_file(name); }

/// Whether an experiment file can hold the metric's texts.
bool is_writable(const Metric& metric) {
  const auto is_text = [](const std::string& text) { return printable(text) == text; };
  return is_text(metric.selector) && is_text(metric.index) && is_text(metric.unit) && is_text(metric.series.value_or("")) &&
         std::all_of(metric.where.begin(), metric.where.end(),
                     [&](const auto& clause) { return is_text(clause.second.front().text()); });
}

/// The first form whose reader finds all occurrences and nothing else.
std::optional<Proposal> exact_form(const Candidate& candidate, const std::string& name, bool is_partial, const Read& read) {
  for (Metric form : candidate.forms) {
    if (!is_writable(form)) continue;
    form.file = name;
    choose_take(form, candidate.seen);
    MetricMatches matches = read(form);
    const bool finds_all = is_partial ? matches.count >= candidate.seen.count : matches.count == candidate.seen.count;
    if (finds_all && matches.count > 0 && matches.not_numbers == 0) return Proposal{name, form, std::move(matches), 0};
  }
  return std::nullopt;
}

/// The names that hpcbench gives its own measurements; a program's number of that name becomes `printed_wall_s`.
std::string own_name(const std::string& name) {
  const std::vector<std::string>& taken = measured_metrics();
  const bool is_taken = name == "time_limit_s" || std::find(taken.begin(), taken.end(), name) != taken.end();
  return is_taken ? "printed_" + name : name;
}

Scan scan(const std::string& name, const Feed& feed, const Read& read, std::size_t limit) {
  Scan result;
  result.file = name;
  Found found;
  if (is_usual("column", name)) {
    TableScan table;
    found = find_in(table, feed, result.warnings);
  } else if (is_usual("pointer", name)) {
    JsonScan json(false);
    found = find_in(json, feed, result.warnings);
  } else if (!is_usual("tag", name)) {
    found = find_in_log(feed, result.warnings);
  }
  std::vector<std::pair<double, const Candidate*>> ranked;
  for (const Candidate& candidate : found.candidates)
    ranked.emplace_back(score_of(candidate.forms.front(), candidate.seen, candidate.is_labelled, found.lines), &candidate);
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::map<std::string, int> names;
  for (const auto& [score, candidate] : ranked) {
    if (result.proposals.size() >= limit) {
      ++result.left_out;
      continue;
    }
    std::optional<Proposal> proposal = exact_form(*candidate, name, found.is_partial, read);
    if (!proposal) continue;
    proposal->metric.name = unused_name(own_name(proposal->metric.name), names);
    proposal->score = score;
    result.proposals.push_back(std::move(*proposal));
  }
  return result;
}

}  // namespace

Scan scan_file(const std::string& path, const std::string& name, std::size_t limit) {
  const Feed feed = [&](const std::function<void(std::string_view)>& take) {
    return read_lines(path, [&](std::string_view piece) {
      take(piece);
      return true;
    });
  };
  return scan(
      name, feed, [&](const Metric& metric) { return read_metric(metric, {path}, {name}); }, limit);
}

Scan scan_text(std::string_view text, const std::string& name, std::size_t limit) {
  const Feed feed = [&](const std::function<void(std::string_view)>& take) -> std::optional<std::string> {
    take(text);
    return std::nullopt;
  };
  return scan(
      name, feed, [&](const Metric& metric) { return read_metric_text(metric, text, name); }, limit);
}

}  // namespace hpcbench
