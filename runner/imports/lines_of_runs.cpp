#include "imports/lines_of_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/take.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "ingest/attempt_record.hpp"
#include "ingest/taken_value.hpp"

namespace hpcbench {

namespace {

/// The first difference apart from values; empty without.
std::string difference_of_lines(const ImportRequest& first, const ImportRequest& other) {
  if (first.configuration != other.configuration) return "they are of different configurations";
  if (first.outcome != other.outcome)
    return fmt::format("outcome is {} and {}", first.outcome.value_or("absent"), other.outcome.value_or("absent"));
  for (const auto& [name, fact] : other.facts) {
    if (name == kNanFact) continue;
    const auto same = first.facts.find(name);
    if (same == first.facts.end() || same->second != fact)
      return fmt::format("{} is {} and {}", name, same == first.facts.end() ? "absent" : same->second, fact);
  }
  return first.statistic != other.statistic || first.n != other.n || first.note != other.note || first.files != other.files
             ? "statistic, n, note or file"
             : "";
}

bool is_nan_there(const std::string& metric, const ImportRequest& line) {
  const auto fact = line.facts.find(kNanFact);
  if (fact == line.facts.end()) return false;
  const std::vector<std::string> names = split(fact->second, ',');
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return trim(name) == metric; });
}

/// The chosen value, as it is written where it is that of one line; absent without.
std::optional<GivenValue> chosen_value(const std::string& metric, const std::vector<ImportRequest>& lines, const Take& take) {
  TakenValue taken(take, 0);
  std::optional<GivenValue> chosen;
  for (const ImportRequest& line : lines) {
    if (is_nan_there(metric, line)) taken.add_not_finite();
    for (const GivenValue& given : line.values) {
      if (given.metric != metric) continue;
      if (!chosen) chosen = given;
      const double factor = unit_factor(given.unit, chosen->unit).value_or(1);
      if (taken.add(given.value * factor)) chosen->printed = given.printed;
    }
  }
  const std::optional<double> value = taken.value();
  if (!chosen || !value) return std::nullopt;
  const bool is_of_line = take.kind == Take::Kind::last || take.kind == Take::Kind::first || take.kind == Take::Kind::min ||
                          take.kind == Take::Kind::max;
  if (!is_of_line) chosen->printed = fmt::format("{}{}{}", *value, chosen->unit.empty() ? "" : " ", chosen->unit);
  chosen->value = *value;
  return chosen;
}

}  // namespace

std::pair<std::string, std::size_t> scope_of_id(const ImportRequest& request) {
  return {*request.id, request.id->starts_with("run ") ? request.configuration + 1 : 0};
}

void LinesOfRuns::add(ImportRequest request) {
  const auto [found, is_new] = known_.emplace(scope_of_id(request), runs_.size());
  if (is_new) runs_.emplace_back();
  runs_[found->second].push_back(std::move(request));
}

void LinesOfRuns::finish(const std::string& take, ImportPlan& plan) {
  for (std::vector<ImportRequest>& lines : runs_) {
    ImportRequest run = lines.front();
    std::vector<std::string> metrics;
    for (const ImportRequest& line : lines) {
      if (const std::string differs = difference_of_lines(run, line); !differs.empty()) {
        plan.problems.push_back(
            printable(fmt::format("{}: error: `{}` is also at {}, and the two differ: {}", line.where, *line.id,
                                  lines.front().where, differs)) +
            "\n  = lines of one run differ in their values only: map fewer columns, or give each run a name");
        metrics.clear();
        break;
      }
      for (const GivenValue& given : line.values) {
        if (std::find(metrics.begin(), metrics.end(), given.metric) == metrics.end()) metrics.push_back(given.metric);
      }
      if (&line != &lines.front()) run.line->text += line.line->text.substr(line.line->text.find('\n') + 1);
    }
    run.values.clear();
    run.facts.erase(kNanFact);
    for (const std::string& metric : metrics) {
      if (auto value = chosen_value(metric, lines, parse_take(take).value_or(Take()))) {
        run.values.push_back(*std::move(value));
      } else {
        std::string& names = run.facts[kNanFact];
        names += (names.empty() ? "" : ", ") + metric;
      }
    }
    if (!metrics.empty() || lines.front().outcome) plan.requests.push_back(std::move(run));
  }
  runs_.clear();
}

}  // namespace hpcbench
