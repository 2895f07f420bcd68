#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "report/looks.hpp"
#include "report/warnings/warnings.hpp"

namespace hpcbench {
namespace {

/// Counts runs that hpcbench started, or imported ones.
std::string describe_failures(const Row& row, bool imported) {
  StateCounts outcomes;
  for (const RunValue& run : row.runs) {
    const bool failed = is_outcome(run.outcome) && run.outcome != State::succeeded;
    if (failed && run.run.is_imported() == imported) ++outcomes[run.outcome];
  }
  return outcomes.empty() ? "" : outcomes.text();
}

/// Counts runs that hpcbench started.
int count_ended(const Sample& sample) {
  return static_cast<int>(std::count_if(sample.runs.begin(), sample.runs.end(), [](const AttemptRecord* run) {
    return is_outcome(run->state) && !run->key.run.is_imported();
  }));
}

/// Counts own runs that are set aside and have not been measured again.
int count_left_out(const Sample& sample) {
  std::set<RunName> names;
  for (const RunValue& run : sample.row.set_aside) {
    if (!run.run.is_imported()) names.insert(run.run);
  }
  for (const AttemptRecord* run : sample.runs) names.erase(run->key.run);
  return static_cast<int>(names.size());
}

/// Returns the fewest runs whose lowest and highest value enclose the median with this confidence (docs/statistics.md): 1 -
/// 2^(1-n).
int fewest_for_interval(double confidence) {
  int n = 2;
  while (1 - std::pow(2.0, 1 - n) < confidence - 1e-9) ++n;
  return n;
}

/// Returns `12 failed: exit code 3, 2 timeout`: outcomes of runs with their reasons, the most frequent first.
std::string describe_outcomes_with_reasons(const std::vector<const Sample*>& shown, bool whole) {
  std::map<std::string, int> counts;
  for (const Sample* sample : shown) {
    for (const RunValue& run : sample->row.runs) {
      if (!is_outcome(run.outcome)) continue;
      const std::string state(to_string(run.outcome));
      ++counts[run.reason.empty() ? state : fmt::format("{} ({})", state, run.reason)];
    }
  }
  std::vector<std::pair<int, std::string>> sorted;
  for (const auto& [text, count] : counts) sorted.emplace_back(-count, text);
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::string> parts;
  for (const auto& [count, text] : sorted) parts.push_back(fmt::format("{} {}", -count, text));
  return list_some(parts, whole);
}

/// Returns `train loss 1.6 to 0.335 from epoch 1 to 5, val loss 1.11 to 1.43, lowest 1.01 in epoch 2`.
std::string describe_overfitting(const std::string& label, const Row& row) {
  const EpochPoint* first = nullptr;
  const EpochPoint* last = nullptr;
  const EpochPoint* best = nullptr;
  for (const EpochPoint& point : row.losses.curve) {
    if (point.epoch == row.losses.best_epoch) best = &point;
    if (!point.train_loss || !point.val_loss) continue;
    if (first == nullptr) first = &point;
    last = &point;
  }
  std::string text = fmt::format(
      "{}: overfits from epoch {}: from epoch {} to {} the train loss goes from {:.2f} to {:.2f}, the validation "
      "loss from {:.2f} to {:.2f}",
      label, *row.losses.overfits_from, first->epoch, last->epoch, *first->train_loss, *last->train_loss, *first->val_loss,
      *last->val_loss);
  if (best != first) text += fmt::format(" (lowest: {:.2f} in epoch {})", *best->val_loss, best->epoch);
  return text;
}

/// Returns how the plan of runs changed after the first results; empty without evidence.
std::string describe_changed_plan(const Sample& sample) {
  std::set<int> plans;  // numbers of repeats in the experiment file when runs of this row were intended
  const std::string* last = nullptr;
  for (const AttemptRecord* run : sample.runs) {
    if (run->key.run.is_imported()) continue;  // `repeats` does not plan imports
    const auto fact = run->facts.find("planned_repeats");
    if (fact == run->facts.end() || (last != nullptr && *last == fact->second)) continue;
    last = &fact->second;
    if (const auto number = Value::from_plain(*last).integer()) plans.insert(static_cast<int>(*number));
  }
  if (plans.size() < 2) return "";
  return fmt::format("runs of studies of {} repeats and of {}: changed after the first results", *plans.begin(),
                     *plans.rbegin());
}

/// Returns `score in none of 6 runs that succeeded: no match in stdout.log`: metrics whose reading warned and gave no value. An
/// imported run that succeeded also misses `metric` if its import gave none.
std::string describe_missed(const Sample& sample, const std::string& metric) {
  std::map<std::string, std::pair<int, std::string>> missed;  // number of runs, and the first warning
  int succeeded = 0;
  for (const AttemptRecord* run : sample.runs) {
    if (run->state != State::succeeded || is_published_of_others(*run, metric)) continue;
    ++succeeded;
    std::set<std::string> names;
    for (const std::string& warning : run->warnings) {
      constexpr std::string_view kBegin = "metric ";
      const std::size_t colon = warning.find(": ");
      if (!warning.starts_with(kBegin) || colon == std::string::npos) continue;
      const std::string name = warning.substr(kBegin.size(), colon - kBegin.size());
      if (run->metrics.contains(name) || is_nan_metric(*run, name) || !names.insert(name).second) continue;
      auto& [count, first] = missed[name];
      if (++count == 1) first = warning.substr(colon + 2);
    }
    const bool gives_none = run->key.run.is_imported() && !run->metrics.contains(metric) && !is_nan_metric(*run, metric);
    if (!gives_none || names.contains(metric)) continue;
    auto& [count, first] = missed[metric];
    if (++count == 1) first = fmt::format("the import of {} gives none", to_string(run->key.run));
  }
  std::vector<std::string> texts;
  for (const auto& [name, seen] : missed) {
    texts.push_back(
        seen.first == succeeded
            ? fmt::format("{} in none of {} runs that succeeded: {}", name, succeeded, seen.second)
            : fmt::format("{} missing in {} of {} runs that succeeded: {}", name, seen.first, succeeded, seen.second));
  }
  return join(texts, ", ");
}

/// Returns `loss is nan in 2 of 3 runs that succeeded (14 of 30 values ...)`, for the metrics for which `is_meant` is true.
template <class Meant>
std::string describe_nan(const Sample& sample, const Meant& is_meant) {
  std::map<std::string, std::pair<int, std::string>> seen;  // number of runs, and the warning of the first
  int succeeded = 0;
  for (const AttemptRecord* run : sample.runs) {
    if (run->state != State::succeeded) continue;
    ++succeeded;
    for (const std::string& name : nan_metrics(*run)) {
      if (!is_meant(name)) continue;
      auto& [count, first] = seen[name];
      const std::string begin = "metric " + name + ": ";
      for (const std::string& warning : run->warnings) {
        if (count == 0 && first.empty() && warning.starts_with(begin)) first = warning.substr(begin.size());
      }
      ++count;
    }
  }
  std::vector<std::string> texts;
  for (const auto& [name, found] : seen) {
    texts.push_back(fmt::format("{} is nan in {} of {} that succeeded{}", name, found.first, counted(succeeded, "run", "runs"),
                                found.second.empty() ? "" : " (" + found.second + ")"));
  }
  return join(texts, ", ");
}

}  // namespace

void warn_diverged(const WarningContext& context, Warnings& found) {
  Sightings rows(context);
  std::string metric;  // a metric that is nan, as the example in the advice
  const auto is_meant = [&](const std::string& name) {
    const bool meant = name == context.metric.name || is_loss(name);
    if (meant && (metric.empty() || name == context.metric.name)) metric = name;
    return meant;
  };
  for (const Sample* sample : context.shown) {
    if (sample->row.counts.nan == 0) continue;
    const std::string seen = describe_nan(*sample, is_meant);
    rows.add(sample->row, [&] { return fmt::format("{}: {}", row_label(context.columns, sample->row), seen); });
  }
  rows.report(
      "diverged", "NaN or an infinity is no value: these runs did not compute what the others did",
      {fmt::format("let such runs count as failed: `success: {{require: [{} < 1e300]}}` in the experiment file, or a limit "
                   "that means more; the kept logs are read again, and no run is repeated",
                   metric),
       fmt::format("let such runs count as failed: `success: {{require: [{} < 1e300]}}` in the experiment file, or "
                   "`outcome: failed` where the import gives an outcome",
                   metric)},
      found);
}

/// ` (repeat 2)`: what an import calls the run.
static std::string name_in_brackets(const AttemptRecord& run) {
  for (const char* const name : {"id", "run", "repeat"}) {
    const auto fact = run.facts.find(name);
    if (run.key.run.is_imported() && fact != run.facts.end()) return fmt::format(" ({} {})", name, fact->second);
  }
  return "";
}

void warn_outlier(const WarningContext& context, Warnings& found) {
  Sightings rows(context);
  for (const Sample* sample : context.shown) {
    std::vector<std::string> far;
    for (const std::size_t i : outliers(sample->values)) {
      const AttemptRecord& run = *sample->measured[i];
      far.push_back(fmt::format("{}{} = {:.3g}", to_string(run.key.run), name_in_brackets(run), sample->values[i]));
    }
    if (far.empty()) continue;
    rows.add(sample->row, [&] {
      return fmt::format("{}: {}, median {:.3g}", row_label(context.columns, sample->row), list_some(far, context.whole_lists),
                         sample->row.summary ? sample->row.summary->median : 0);
    });
  }
  rows.report("outlier", "a run is far from the others of its row; it counts all the same",
              same_advice("check its log and node; medians and their intervals hardly move"), found);
}

void warn_few_repeats(const WarningContext& context, Warnings& found) {
  if (!context.experiment.report.looks.empty()) return;  // a row that is too wide, or has no interval, is `undecided`
  const double confidence = context.experiment.report.confidence;
  const int needed = fewest_for_interval(confidence);
  Sightings few(context);
  Sightings waiting(context);   // enough are planned, and some have not ended
  Sightings left_out(context);  // enough have ended or were set aside
  Sightings missing(context);   // enough were planned, all have ended, and some have no value
  for (const Sample* sample : context.shown) {
    const Row& row = sample->row;
    if (!row.summary || (!row.statistic.empty() && row.counts.n > 1)) continue;  // published of n runs: the row states it
    const auto& interval = row.summary->interval;
    if (interval && interval->coverage >= confidence - 1e-9) continue;
    const bool enough = context.planned_repeats >= needed && !is_only_imported(row);
    const int ended = count_ended(*sample);
    Sightings& rows = !enough                                                 ? few
                      : ended >= context.planned_repeats                      ? missing
                      : ended + row.runs_left_out() < context.planned_repeats ? waiting
                                                                              : left_out;
    const std::string reached = interval ? fmt::format("covers {:.4g} %", 100 * interval->coverage) : "no interval";
    rows.add(row, [&] { return fmt::format("{}: n = {}, {}", row_label(context.columns, row), row.counts.n, reached); });
  }
  const std::string code = "few-repeats";
  const std::string why = fmt::format("so few runs carry no {:g} % interval of a median", 100 * confidence);
  // Not "until the interval is narrow enough": the warning `adaptive` discourages that.
  few.report(code, why,
             {fmt::format("set `repeats` to {} or more, once, and let all of them end: what is there is kept", needed),
              "give their values and their number, and claim nothing that needs an interval"},
             found);
  waiting.report(code, why,
                 same_advice(fmt::format("wait until all {} planned runs have ended: `hpcbench run {}` carries on with them",
                                         context.planned_repeats, context.experiment.name)),
                 found);
  left_out.report(code, why,
                  same_advice(fmt::format("runs that are set aside are not run again: measure all runs of these rows again "
                                          "(`hpcbench run {} --again`), or raise `repeats` by the runs that are set aside",
                                          context.experiment.name)),
                  found);
  missing.report(code, why,
                 same_advice(fmt::format("see why planned runs have no value (`hpcbench status {}`), and fix that",
                                         context.experiment.name)),
                 found);
}

void warn_overfitting(const WarningContext& context, Warnings& found) {
  Sightings rows(context);
  for (const Sample* sample : context.shown) {
    const Row& row = sample->row;
    if (!row.losses.overfits_from) continue;
    rows.add(row, [&] { return describe_overfitting(row_label(context.columns, row), row); });
  }
  rows.report("overfitting", "the model learns its training samples by heart: later epochs cost time and make it worse",
              {"stop at the best epoch (early stopping), and compare strategies at the best validation loss",
               "compare strategies at the best validation loss, and state how many epochs came after it"},
              found);
}

void warn_adaptive(const WarningContext& context, Warnings& found) {
  Sightings changed(context);
  Sightings unfinished(context);
  for (const Sample* sample : context.shown) {
    const auto label = [&] { return row_label(context.columns, sample->row); };
    const int ended = count_ended(*sample) + count_left_out(*sample);
    if (const std::string seen = describe_changed_plan(*sample); !seen.empty()) {
      changed.add(sample->row, [&] { return fmt::format("{}: {}", label(), seen); });
    } else if (ended > 0 && ended < context.planned_repeats && !context.experiment.repeat_rule) {
      unfinished.add(sample->row, [&] {
        return fmt::format("{}: {} of {} planned runs have ended", label(), ended, context.planned_repeats);
      });
    }
  }
  const std::string code = "adaptive";
  const std::string why = "a decision to stop that depends on the results finds differences that do not exist";
  changed.report(
      code, why,
      {"state beside the numbers that `repeats` was changed after the first results, and let all runs that are planned "
       "now end",
       "state beside the numbers that more runs were made after the first results"},
      found);
  unfinished.report(code, why, same_advice("decide nothing by these numbers before all planned runs have ended"), found);
}

void warn_undecided(const WarningContext& context, Warnings& found) {
  Sightings going(context);
  Sightings over(context);
  for (const Sample* sample : context.shown) {
    const auto index = static_cast<std::size_t>(sample - context.samples.data());
    if (index >= context.looks.size() || context.looks[index].decided || sample->runs.empty()) continue;
    const LookProgress& progress = context.looks[index];
    (progress.next > 0 ? going : over).add(sample->row, [&] {
      return fmt::format("{}: {}{}", row_label(context.columns, sample->row), progress.why, describe_rest(progress));
    });
  }
  const std::string code = "undecided";
  const std::string why = "the interval is wider than `repeats.until` requires; it is still valid";
  going.report(
      code, why,
      same_advice(fmt::format("`hpcbench run {}` carries on with them, as far as the budget goes", context.experiment.name)),
      found);
  over.report(
      code, why,
      same_advice("give the width that was reached; other looks, or a larger `to`, are another study: give it a new name"),
      found);
}

void warn_no_value(const WarningContext& context, Warnings& found) {
  Sightings rows(context);
  for (const Sample* sample : context.shown) {
    const std::string seen = describe_missed(*sample, context.metric.name);
    if (!seen.empty())
      rows.add(sample->row, [&] { return fmt::format("{}: {}", row_label(context.columns, sample->row), seen); });
  }
  rows.report("no-value", "the metric's definition does not match its files",
              {"fix `metrics` in the experiment file: the kept logs are read again, and no run is repeated",
               "fix `metrics` in the experiment file: the next report uses it"},
              found);
  Sightings nan(context);
  const auto is_other = [&](const std::string& name) { return name != context.metric.name && !is_loss(name); };
  for (const Sample* sample : context.shown) {
    if (!sample->row.facts.contains(kNanFact) && sample->measured.size() == sample->runs.size()) continue;
    const std::string seen = describe_nan(*sample, is_other);
    if (!seen.empty())
      nan.add(sample->row, [&] { return fmt::format("{}: {}", row_label(context.columns, sample->row), seen); });
  }
  nan.report("no-value", "NaN or an infinity is no value: the program had nothing to compute it from, or computed it wrongly",
             same_advice("report no value of it; if such runs are no success, declare it by `success.require`"), found);
}

void warn_failures(const WarningContext& context, Warnings& found) {
  Sightings own(context);
  Sightings imported(context);
  for (const Sample* sample : context.shown) {
    for (const bool of_imports : {false, true}) {
      const std::string failures = describe_failures(sample->row, of_imports);
      if (failures.empty()) continue;
      (of_imports ? imported : own).add(sample->row, [&] {
        return fmt::format("{}: {}", row_label(context.columns, sample->row), failures);
      });
    }
  }
  const std::string code = "failures";
  const std::string why = "the numbers are of the runs that are left, and those may be the lucky ones";
  own.report(code, why,
             same_advice(fmt::format("read why with `hpcbench status {0}`; once the cause is fixed, `hpcbench retry {0}` runs "
                                     "them again",
                                     context.experiment.name)),
             found);
  imported.report(code, why, same_advice("state beside the numbers how many of the imported runs did not succeed"), found);
}

void warn_no_success(const WarningContext& context, Warnings& found) {
  TableWarning warning{kNoSuccess, {}, "", "without a value there is nothing to report or to compare", ""};
  int ended = 0;
  bool own = false;
  for (const Sample* sample : context.shown) {
    int of_row = 0;
    for (const RunValue& run : sample->row.runs) {
      if (run.outcome == State::succeeded) return;
      of_row += is_outcome(run.outcome) ? 1 : 0;
      own = own || !run.run.is_imported();
    }
    if (sample->row.counts.n > 0) return;  // known to take longer than a limit
    ended += of_row;
    if (of_row > 0) warning.rows.push_back(sample->row.config_id);
  }
  if (ended == 0) return;
  warning.seen = fmt::format("none of {} that ended succeeded: {}", ended == 1 ? "1 run" : fmt::format("{} runs", ended),
                             describe_outcomes_with_reasons(context.shown, context.whole_lists));
  warning.advice = own ? fmt::format(
                             "read why with `hpcbench status {0}` and `hpcbench logs`; once the cause is fixed, "
                             "`hpcbench retry {0}` runs them again",
                             context.experiment.name)
                       : "check their files; if runs did succeed, fix `success` or the import in the experiment file";
  found.push_back(std::move(warning));
}

}  // namespace hpcbench
