#include "study/run_reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "plan/plan.hpp"
#include "study/index.hpp"
#include "study/last_run.hpp"
#include "study/study.hpp"

namespace hpcbench {

namespace {

struct Reference {
  std::string experiment;
  std::string configuration;  // id prefix, axis=value,... or value,...
  std::optional<RunName> run;
  std::optional<int> attempt;
};

constexpr std::size_t kShownRuns = 10;
constexpr std::size_t kShownValues = 10;  // of an axis

[[noreturn]] void reject_reference(const std::string& reference, const std::string& why, const std::string& experiment = "") {
  throw InputError(
      fmt::format("error: `{}` is no run{}: {}; write [EXPERIMENT/](CONFIG_ID prefix | axis=value,... | value,...)[/rNN[/aN]]",
                  reference, experiment.empty() ? "" : " of " + experiment, why));
}

std::string last_experiment(const std::string& results_root) {
  const std::optional<LastRun> last = read_last_run(results_root);
  const std::vector<std::string> there = experiments_on_disk(results_root);
  if (last) return last->experiment;
  if (there.size() == 1) return there.front();
  if (there.empty()) {
    throw UnavailableError(fmt::format("error: no results in {}{}", results_root, where_results_are(results_root, "", "")));
  }
  throw InputError(fmt::format("error: name the experiment: EXPERIMENT/CONFIG_ID/rNN; in {} there are: {}", results_root,
                               join(there, ", ")));
}

Reference parse_reference(const std::string& results_root, const std::string& text) {
  Reference reference;
  std::vector<std::string> parts = split(text, '/');
  const std::vector<std::string> experiments = experiments_on_disk(results_root);
  if (parts.size() > 1 && std::find(experiments.begin(), experiments.end(), parts.front()) != experiments.end()) {
    reference.experiment = parts.front();
    parts.erase(parts.begin());
  } else {
    reference.experiment = last_experiment(results_root);
  }
  // From the end: values may hold `/`, as in `model=org/name/r01`.
  if (parts.size() > 2 && parse_run_name(parts[parts.size() - 2])) {
    if (const std::optional<AttemptKey> key = parse_attempt_key("x/r01/" + parts.back())) {
      reference.attempt = key->attempt;
      parts.pop_back();
    }
  }
  if (parts.size() > 1) {
    reference.run = parse_run_name(parts.back());
    if (reference.run) parts.pop_back();
  }
  reference.configuration = join(parts, "/");
  if (reference.configuration.empty()) reject_reference(text, "names no configuration", reference.experiment);
  // The name of an axis holds no `/`, values may.
  if (parts.size() > 1 && parts.front().find_first_of("=,") == std::string::npos) {
    reject_reference(
        text, fmt::format("`{}` is no experiment{}; {} holds: {}", parts.front(), did_you_mean(parts.front(), experiments),
                          results_root, experiments.empty() ? "none" : join(experiments, ", ")));
  }
  return reference;
}

using Axes = std::map<std::string, std::set<Value>>;

/// Every axis of these runs, with its values.
Axes axes_of(const std::vector<AttemptRecord>& records) {
  Axes axes;
  for (const AttemptRecord& record : records) {
    for (const auto& [name, value] : record.axes) axes[name].insert(value);
  }
  return axes;
}

std::vector<std::string> axis_names(const Axes& axes) {
  std::vector<std::string> names;
  for (const auto& axis : axes) names.push_back(axis.first);
  return names;
}

/// At most ten.
std::string list_values(const std::set<Value>& values) {
  std::vector<std::string> texts;
  for (const Value& value : values) {
    const std::string shown = value.text().empty() ? "\"\"" : printable(value.text());
    texts.push_back(texts.size() == kShownValues ? "..." : shown);
    if (texts.size() > kShownValues) break;
  }
  return join(texts, ", ");
}

/// `strategy: ddp, zero; nodes: 1, 2`.
std::string list_axes(const Axes& axes) {
  std::vector<std::string> texts;
  for (const auto& [name, values] : axes) texts.push_back(name + ": " + list_values(values));
  return join(texts, "; ");
}

bool has_any(const std::set<Value>& values, const Condition& of_value) {
  return std::any_of(values.begin(), values.end(), [&](const Value& value) {
    return matches(of_value, Bindings{{of_value.begin()->first, value}});
  });
}

/// `ddp` -> `strategy=ddp`, where exactly one axis has that value; what is axis=value already stays, if some run has it.
std::string with_axis(const std::string& text, const std::string& experiment, const std::string& clause, const Axes& axes) {
  const std::vector<std::string> names = axis_names(axes);
  if (const std::size_t equals = clause.find('='); equals != std::string::npos) {
    const std::string name(trim(std::string_view(clause).substr(0, equals)));
    if (name.empty() || equals + 1 == clause.size())
      reject_reference(text, fmt::format("`{}` is not axis=value", clause), experiment);
    if (axes.count(name) == 0) {
      reject_reference(text,
                       fmt::format("`{}` is no axis{}; the axes are: {}", name, did_you_mean(name, names), join(names, ", ")),
                       experiment);
    }
    if (!has_any(axes.at(name), parse_only(clause))) {
      throw InputError(fmt::format("error: `{}`: no run of {} that has begun has {} (there are: {})", text, experiment, clause,
                                   list_values(axes.at(name))));
    }
    return clause;
  }
  std::vector<std::string> having;
  const Condition wanted = parse_only("value=" + clause);
  for (const auto& [name, values] : axes) {
    if (has_any(values, wanted)) having.push_back(name);
  }
  if (having.size() == 1) return having.front() + "=" + clause;
  if (having.empty()) {
    reject_reference(
        text, fmt::format("no configuration's id begins with `{}`, and no axis has that value ({})", clause, list_axes(axes)),
        experiment);
  }
  reject_reference(text, fmt::format("`{}` is a value of {}: write axis={}", clause, join(having, " and of "), clause),
                   experiment);
}

/// Absent where the reference is the beginning of a configuration's id.
std::optional<Condition> condition_of(const std::string& text, const Reference& reference,
                                      const std::vector<AttemptRecord>& records) {
  const bool is_id = std::any_of(records.begin(), records.end(), [&](const AttemptRecord& record) {
    return record.key.config_id.starts_with(reference.configuration);
  });
  if (is_id) return std::nullopt;
  const Axes axes = axes_of(records);
  std::vector<std::string> clauses;
  for (const std::string& clause : split_escaped(reference.configuration, ',')) {
    if (trim(clause).empty()) reject_reference(text, "a value is missing between commas", reference.experiment);
    clauses.push_back(with_axis(text, reference.experiment, std::string(trim(clause)), axes));
  }
  return parse_only(join(clauses, ","));
}

bool is_of_configuration(const Reference& reference, const std::optional<Condition>& condition, const AttemptRecord& record) {
  return condition ? matches(*condition, record.axes) : record.key.config_id.starts_with(reference.configuration);
}

bool is_named(const Reference& reference, const AttemptRecord& record) {
  return (!reference.run || record.key.run == *reference.run) &&
         (!reference.attempt || record.key.attempt == *reference.attempt);
}

std::string list_runs(const Reference& reference, const std::vector<AttemptRecord>& runs, bool with_attempts) {
  std::string names;
  for (std::size_t i = 0; i < std::min(runs.size(), kShownRuns); ++i) {
    const AttemptKey& key = runs[i].key;
    names += fmt::format("\n  {}/{}{} ({})", key.config_id, to_string(key.run),
                         with_attempts ? fmt::format("/a{}", key.attempt) : "", describe(runs[i].axes));
  }
  return names + (runs.size() > kShownRuns ? fmt::format("\n  ... (hpcbench status {} --all)", reference.experiment) : "");
}

/// All attempts where one is named, else those that count.
std::vector<AttemptRecord> candidates(const Store& store, const Reference& reference) {
  const bool all = reference.attempt || (reference.run && reference.run->is_warmup());
  if (all) return store.attempts(reference.experiment);
  std::vector<AttemptRecord> records = store.counting_attempts(reference.experiment, true);
  std::vector<AttemptRecord> aside = store.set_aside_attempts(reference.experiment, true);
  if (aside.empty()) return records;
  // Of a run without an attempt that counts, the last one that was set aside.
  std::map<std::pair<std::string, RunName>, AttemptRecord> by_run;
  for (std::vector<AttemptRecord>* const from : {&aside, &records}) {
    for (AttemptRecord& each : *from) by_run.insert_or_assign({each.key.config_id, each.key.run}, std::move(each));
  }
  records.clear();
  for (auto& [run, record] : by_run) records.push_back(std::move(record));
  return records;
}

}  // namespace

FoundRun find_run(const std::string& results_root, const std::string& text) {
  const Reference reference = parse_reference(results_root, text);
  const Store store = open_for_reading(results_root, reference.experiment).store;
  std::vector<AttemptRecord> records = candidates(store, reference);
  if (records.empty()) throw InputError(fmt::format("error: `{}`: no run of {} has begun yet", text, reference.experiment));
  const std::optional<Condition> condition = condition_of(text, reference, records);
  std::erase_if(records, [&](const AttemptRecord& record) { return !is_of_configuration(reference, condition, record); });
  std::vector<AttemptRecord> found;
  for (const AttemptRecord& record : records) {
    if (is_named(reference, record)) found.push_back(record);
  }
  if (found.empty() && records.empty()) {
    throw InputError(
        fmt::format("error: no run of {0} matches `{1}`; `hpcbench status {0} --all` lists them", reference.experiment, text));
  }
  if (found.empty()) {
    throw InputError(fmt::format("error: no run of {} matches `{}`; there are:{}", reference.experiment, text,
                                 list_runs(reference, records, reference.attempt.has_value())));
  }
  // A warm-up that is not named by its attempt: the last one counts.
  if (found.size() > 1 && reference.run && found.front().key.config_id == found.back().key.config_id)
    return {reference.experiment, found.back()};
  if (found.size() > 1) {
    throw InputError(
        fmt::format("error: `{}` is {} runs; name one:{}", text, found.size(), list_runs(reference, found, false)));
  }
  return {reference.experiment, found.front()};
}

}  // namespace hpcbench
