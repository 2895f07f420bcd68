#include <fmt/format.h>

#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "report/warnings.hpp"

namespace hpcbench {
namespace {

std::string describe_failures(const Row& row) {
  std::vector<std::string> parts;
  for (const auto& [state, count] : row.outcomes) {
    if (is_outcome(state) && state != State::succeeded) parts.push_back(fmt::format("{} {}", count, to_string(state)));
  }
  return join(parts, ", ");
}

/// `train loss 1.6 to 0.335 from epoch 1 to 5, val loss 1.11 to 1.43, lowest 1.01 in epoch 2`.
std::string describe_overfitting(const std::string& label, const Row& row) {
  const EpochPoint* first = nullptr;
  const EpochPoint* last = nullptr;
  const EpochPoint* best = nullptr;
  for (const EpochPoint& point : row.curve) {
    if (point.epoch == row.best_epoch) best = &point;
    if (!point.train_loss || !point.val_loss) continue;
    if (first == nullptr) first = &point;
    last = &point;
  }
  std::string text = fmt::format(
      "{}: overfits from epoch {}: from epoch {} to {} the train loss goes from {:.2f} to {:.2f}, the validation "
      "loss from {:.2f} to {:.2f}",
      label, *row.overfits_from, first->epoch, last->epoch, *first->train_loss, *last->train_loss, *first->val_loss,
      *last->val_loss);
  if (best != first) text += fmt::format(" (lowest: {:.2f} in epoch {})", *best->val_loss, best->epoch);
  return text;
}

/// What shows that the number of runs was not fixed beforehand; empty if nothing does.
std::string describe_adaptive(const Sample& sample, int planned) {
  std::set<int> plans;  // numbers of repeats that the experiment asked for when runs of this row were intended
  int ended = 0;
  bool own = false;
  for (const AttemptRecord* run : sample.runs) {
    ended += is_outcome(run->state) ? 1 : 0;
    own = own || !run->key.run.is_imported();
    const auto fact = run->facts.find("planned_repeats");
    const auto number = fact == run->facts.end() ? std::nullopt : Value::from_plain(fact->second).integer();
    if (number) plans.insert(static_cast<int>(*number));
  }
  if (plans.size() > 1) {
    return fmt::format("runs of studies of {} repeats and of {}: changed when results were there", *plans.begin(),
                       *plans.rbegin());
  }
  if (own && ended > 0 && ended < planned) return fmt::format("{} of {} planned runs have ended", ended, planned);
  return "";
}

/// `score in none of 6 runs that succeeded: no match in stdout.log`: metrics whose reading warned and gave nothing.
std::string describe_missed(const Sample& sample) {
  std::map<std::string, std::pair<int, std::string>> missed;  // how often, and the first warning
  int succeeded = 0;
  for (const AttemptRecord* run : sample.runs) {
    if (run->state != State::succeeded) continue;
    ++succeeded;
    std::set<std::string> names;
    for (const std::string& warning : run->warnings) {
      constexpr std::string_view kBegin = "metric ";
      const std::size_t colon = warning.find(": ");
      if (!warning.starts_with(kBegin) || colon == std::string::npos) continue;
      const std::string name = warning.substr(kBegin.size(), colon - kBegin.size());
      if (run->metrics.contains(name) || !names.insert(name).second) continue;
      auto& [count, first] = missed[name];
      if (++count == 1) first = warning.substr(colon + 2);
    }
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

}  // namespace

void warn_outlier(const WarningContext& context, Warnings& found) {
  Sightings rows;
  for (const Sample* sample : context.shown) {
    std::vector<std::string> far;
    for (const std::size_t i : outliers(sample->values)) {
      far.push_back(fmt::format("{} = {:.3g}", to_string(sample->measured[i]->key.run), sample->values[i]));
    }
    if (far.empty()) continue;
    rows.add(sample->row, [&] {
      return fmt::format("{}: {}, median {:.3g}", row_label(context.columns, sample->row), list_some(far),
                         sample->row.summary ? sample->row.summary->median : 0);
    });
  }
  rows.report("outlier", "a run beyond 5 scaled median absolute deviations of its row; it counts all the same",
              "look at its log and node; medians and their intervals hardly move", found);
}

void warn_few_repeats(const WarningContext& context, Warnings& found) {
  Sightings rows;
  for (const Sample* sample : context.shown) {
    const Row& row = sample->row;
    if (!row.summary || (!row.statistic.empty() && row.n > 1)) continue;  // published of n runs: says so itself
    const auto& interval = row.summary->interval;
    if (interval && interval->coverage >= context.experiment.report.confidence - 1e-9) continue;
    const std::string reached = interval ? fmt::format("covers {:.4g} %", 100 * interval->coverage) : "no interval";
    rows.add(row, [&] { return fmt::format("{}: n = {}, {}", row_label(context.columns, row), row.n, reached); });
  }
  rows.report("few-repeats",
              fmt::format("so few runs carry no {:g} % interval of a median", 100 * context.experiment.report.confidence),
              "set `repeats` to 6 or more: what is there is kept", found);
}

void warn_overfitting(const WarningContext& context, Warnings& found) {
  Sightings rows;
  for (const Sample* sample : context.shown) {
    const Row& row = sample->row;
    if (!row.overfits_from) continue;
    rows.add(row, [&] { return describe_overfitting(row_label(context.columns, row), row); });
  }
  rows.report("overfitting", "the model learns its training samples by heart: later epochs cost time and make it worse",
              "stop at the best epoch (early stopping), and compare strategies at the best validation loss", found);
}

void warn_adaptive(const WarningContext& context, Warnings& found) {
  Sightings rows;
  for (const Sample* sample : context.shown) {
    const std::string seen = describe_adaptive(*sample, context.planned_repeats);
    if (!seen.empty())
      rows.add(sample->row, [&] { return fmt::format("{}: {}", row_label(context.columns, sample->row), seen); });
  }
  rows.report("adaptive", "whoever looks at results before deciding when to stop finds differences that are not there",
              "fix `repeats` before the first run and report when all have ended; or say that it was done", found);
}

void warn_no_value(const WarningContext& context, Warnings& found) {
  Sightings rows;
  for (const Sample* sample : context.shown) {
    const std::string seen = describe_missed(*sample);
    if (!seen.empty())
      rows.add(sample->row, [&] { return fmt::format("{}: {}", row_label(context.columns, sample->row), seen); });
  }
  rows.report("no-value", "what the file says of a metric is not what stands in its files",
              "mend `metrics` in the experiment file: the kept logs are read again, and no run is repeated", found);
}

void warn_failures(const WarningContext& context, Warnings& found) {
  Sightings rows;
  for (const Sample* sample : context.shown) {
    const std::string failures = describe_failures(sample->row);
    if (!failures.empty())
      rows.add(sample->row, [&] { return fmt::format("{}: {}", row_label(context.columns, sample->row), failures); });
  }
  rows.report("failures", "the numbers are of the runs that are left, and those may be the lucky ones",
              "read why with `hpcbench status`; run them again with `hpcbench retry`", found);
}

}  // namespace hpcbench
