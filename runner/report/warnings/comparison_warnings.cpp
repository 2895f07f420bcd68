#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/executor_kind.hpp"
#include "base/text.hpp"
#include "report/software_axes.hpp"
#include "report/warnings/warnings.hpp"

namespace hpcbench {
namespace {

constexpr double kLossTolerance = 0.05;

/// One way in which two rows can do different work. Of several facts, compares the first that both rows have.
struct ConfoundedKind {
  const char* name;
  std::array<const char*, 2> facts;
  bool grows_with_size;  // under weak scaling
  /// Axes that may change it on purpose: modules, containers, partitions ... (software), or input decks.
  enum class Factor { none, software, deck } factor = Factor::none;
  bool absent_is_1 = false;  // a job of Slurm without the fact has the value 1
};
constexpr std::array kKinds = {
    ConfoundedKind{"precision", {"precision", nullptr}, false},
    ConfoundedKind{"global batch", {"global_batch", nullptr}, true},
    ConfoundedKind{"optimizer steps", {"optimizer_steps", nullptr}, false},
    ConfoundedKind{"samples", {"samples", nullptr}, true},
    ConfoundedKind{"device", {"node_type", "device"}, false, ConfoundedKind::Factor::software},
    ConfoundedKind{"gpu model", {"gpu_model", nullptr}, false, ConfoundedKind::Factor::software},
    ConfoundedKind{"power limit of GPUs", {"gpu_power_limit_w", nullptr}, false, ConfoundedKind::Factor::software},
    ConfoundedKind{"driver", {"driver", nullptr}, false, ConfoundedKind::Factor::software},
    ConfoundedKind{"transport within nodes", {"nccl_local_transport", nullptr}, false, ConfoundedKind::Factor::software},
    ConfoundedKind{"transport between nodes", {"nccl_network_transport", nullptr}, false, ConfoundedKind::Factor::software},
    ConfoundedKind{"TF32 setting of matrix products", {"tf32_matmul", nullptr}, false, ConfoundedKind::Factor::software},
    ConfoundedKind{"TF32 setting of convolutions", {"tf32_cudnn", nullptr}, false, ConfoundedKind::Factor::software},
    ConfoundedKind{"choice of kernels", {"kernels", nullptr}, false, ConfoundedKind::Factor::software},
    ConfoundedKind{"CUDA graphs", {"cuda_graphs", nullptr}, false, ConfoundedKind::Factor::software},
    ConfoundedKind{"waiting of threads", {"thread_wait", nullptr}, false, ConfoundedKind::Factor::software},
    ConfoundedKind{"OMP_NUM_THREADS", {"omp_num_threads", nullptr}, false},
    ConfoundedKind{"library", {"torch", nullptr}, false, ConfoundedKind::Factor::software},
    ConfoundedKind{"training program", {"trainer", "library"}, false, ConfoundedKind::Factor::software},
    ConfoundedKind{"code", {"code", "commit"}, false},
    ConfoundedKind{"source of a preparation", {"inputs", nullptr}, false},
    ConfoundedKind{"input deck", {"deck", nullptr}, false, ConfoundedKind::Factor::deck},
    ConfoundedKind{"number of runs side by side", {"side_by_side", nullptr}, false, ConfoundedKind::Factor::none, true},
};

/// A fact over the measured runs of a row: the value of the first run, and one that differs from it.
struct FactOfRow {
  const std::string* value = nullptr;
  const std::string* other = nullptr;
};

FactOfRow fact_of(const Sample& sample, const ConfoundedKind& kind, const char* name) {
  static const std::string kOne = "1";
  FactOfRow fact;
  if (name == nullptr || (!kind.absent_is_1 && !sample.row.facts.contains(name))) return fact;
  for (const AttemptRecord* run : sample.measured) {
    const auto found = run->facts.find(name);
    const bool is_absent = found == run->facts.end();
    if (is_absent && !(kind.absent_is_1 && executor_kind(run->executor).blocks)) continue;
    const std::string& value = is_absent ? kOne : found->second;
    if (fact.value == nullptr) fact.value = &value;
    if (*fact.value != value) fact.other = &value;
  }
  return fact;
}

std::string show_fact(const FactOfRow& fact) {
  constexpr std::size_t kLongest = 40;
  const auto shorten = [](const std::string& text) { return text.size() > kLongest ? text.substr(0, kLongest) + "..." : text; };
  return fact.other == nullptr ? shorten(*fact.value) : shorten(*fact.value) + " and " + shorten(*fact.other);
}

/// Compares the work per rank, which must be equal under weak scaling.
bool is_same_per_rank(const std::string& ours, const std::string& theirs, int size, int baseline_size) {
  const auto mine = Value::from_plain(ours).number();
  const auto base = Value::from_plain(theirs).number();
  return mine && base && *mine * baseline_size == *base * size;
}

/// A difference between a row and its baseline, or among the runs of the row itself.
struct Difference {
  FactOfRow ours;
  FactOfRow theirs;  // without value: among the runs of the row
};

std::optional<Difference> find_difference(const WarningContext& context, const Sample& sample, const ConfoundedKind& kind) {
  const Sample* base = baseline_of(context, sample);
  for (const char* name : kind.facts) {
    const FactOfRow ours = fact_of(sample, kind, name);
    if (ours.value == nullptr) continue;
    if (is_mixed_program(sample, name)) return std::nullopt;  // belongs to another warning
    if (ours.other != nullptr) return Difference{ours, {}};
    if (base == nullptr) return std::nullopt;
    const FactOfRow theirs = fact_of(*base, kind, name);
    if (theirs.value == nullptr) continue;
    const bool weak = context.experiment.report.scaling == Scaling::weak && kind.grows_with_size;
    const bool same =
        theirs.other == nullptr &&
        (weak ? is_same_per_rank(*ours.value, *theirs.value, sample.row.size, base->row.size) : *ours.value == *theirs.value);
    return same ? std::nullopt : std::optional(Difference{ours, theirs});
  }
  return std::nullopt;
}

/// Returns whether all rows with one value of an axis have one value of each fact of this kind, so that the axis determines it.
bool follows(const WarningContext& context, const ConfoundedKind& kind, const std::string& axis) {
  std::map<std::string, std::string> by_value;
  for (const Sample& sample : context.samples) {
    const Value* value = find_binding(sample.row.axes, axis);
    for (const char* name : kind.facts) {
      const FactOfRow fact = fact_of(sample, kind, name);
      if (value == nullptr || fact.value == nullptr) continue;
      const auto [known, is_new] = by_value.emplace(std::string(name) + ' ' + value->canonical(), *fact.value);
      if (fact.other != nullptr || (!is_new && known->second != *fact.value)) return false;
    }
  }
  return true;
}

/// Returns whether an axis of software makes the difference on purpose, between rows that differ in it: it is then the subject
/// of the study.
bool is_factor(const WarningContext& context, const ConfoundedKind& kind, const Sample& sample,
               const std::vector<std::string>& axes) {
  const Sample* base = baseline_of(context, sample);
  return base != nullptr && std::any_of(axes.begin(), axes.end(), [&](const std::string& axis) {
           const Value* ours = find_binding(sample.row.axes, axis);
           const Value* theirs = find_binding(base->row.axes, axis);
           return ours != nullptr && theirs != nullptr && *ours != *theirs && follows(context, kind, axis);
         });
}

std::string describe_difference(const ConfoundedKind& kind, const Difference& difference, const std::string& label) {
  const std::string ours = show_fact(difference.ours);
  if (difference.theirs.value == nullptr) return fmt::format("{}: {} among the runs of {}", kind.name, ours, label);
  return fmt::format("{}: {} in {}, {} in its baseline", kind.name, ours, label, show_fact(difference.theirs));
}

bool ranges_are_apart(const std::vector<double>& a, const std::vector<double>& b) {
  const auto [a_low, a_high] = std::minmax_element(a.begin(), a.end());
  const auto [b_low, b_high] = std::minmax_element(b.begin(), b.end());
  return *a_low > *b_high || *b_low > *a_high;
}

}  // namespace

void warn_superlinear(const WarningContext& context, Warnings& found) {
  Sightings rows(context);
  for (const Sample* sample : context.shown) {
    const Sample* base = baseline_of(context, *sample);
    const Row& row = sample->row;
    if (base == nullptr || base->row.size == 0 || row.size <= base->row.size || !row.speedup) continue;
    if (!context.metric.kind.scales) continue;
    const bool is_flat = context.metric.is_flat(context.experiment.report.scaling);
    const double ideal = is_flat ? 1 : static_cast<double>(row.size) / base->row.size;
    const auto& interval = row.speedup->interval;
    const double least = interval ? interval->low : row.speedup->value;
    if (least <= ideal * (1 + kRatioRounding)) continue;
    rows.add(row, [&] {
      return fmt::format("{}: speedup {} {:.3g} where {:.3g} is ideal", row_label(context.columns, row),
                         interval ? "at least" : "(without an interval)", least, ideal);
    });
  }
  const std::string unit = to_string(context.experiment.scale_by());
  rows.report("superlinear",
              "more " + unit + " than paid for: mostly a cache that now fits, or less work than the baseline did",
              same_advice("compare samples, optimizer steps and losses of both rows; state the cause"), found);
}

void warn_confounded(const WarningContext& context, Warnings& found) {
  const std::map<ConfoundedKind::Factor, std::vector<std::string>> factors = {
      {ConfoundedKind::Factor::none, {}},
      {ConfoundedKind::Factor::software, software_axes(context.experiment, context.columns)},
      {ConfoundedKind::Factor::deck, deck_axes(context.experiment, context.columns)}};
  for (const ConfoundedKind& kind : kKinds) {
    Sightings rows(context);
    for (const Sample* sample : context.shown) {
      const auto difference = find_difference(context, *sample, kind);
      if (!difference || is_factor(context, kind, *sample, factors.at(kind.factor))) continue;
      rows.add(sample->row, [&] { return describe_difference(kind, *difference, row_label(context.columns, sample->row)); });
    }
    rows.report("confounded", fmt::format("the speedup mixes the strategy's effect with that of another {}", kind.name),
                {fmt::format("{}measure all rows with one {} into another --results folder",
                             kind.absent_is_1 ? "" : "make it an axis, or ", kind.name),
                 fmt::format("make it an axis, or state beside the speedups that the {} differs", kind.name)},
                found);
  }
}

void warn_loss_mismatch(const WarningContext& context, Warnings& found) {
  Sightings rows(context);
  for (const Sample* sample : context.shown) {
    const Sample* base = baseline_of(context, *sample);
    if (base == nullptr || !sample->row.losses.train_loss || !base->row.losses.train_loss) continue;
    const double ours = *sample->row.losses.train_loss;
    const double theirs = *base->row.losses.train_loss;
    if (std::abs(ours - theirs) <= kLossTolerance * std::abs(theirs)) continue;
    if (!ranges_are_apart(sample->train_losses, base->train_losses)) continue;
    rows.add(sample->row, [&] {
      return fmt::format("{}: train loss {:.3g}, {:.3g} in its baseline", row_label(context.columns, sample->row), ours,
                         theirs);
    });
  }
  rows.report("loss-mismatch", "a run that learns less is not the same work done faster",
              {"compare the rows at equal loss, or adjust learning rate and batch until they train alike",
               "compare the rows at equal loss, or give both losses beside the speedup"},
              found);
}

void warn_baseline_few(const WarningContext& context, Warnings& found) {
  std::set<std::size_t> seen;
  Sightings rows(context);
  for (const Sample* sample : context.shown) {
    const Sample* base = baseline_of(context, *sample);
    if (base == nullptr || base->row.counts.n == 0 || base->row.counts.n >= sample->row.counts.n ||
        !seen.insert(*sample->baseline).second)
      continue;
    rows.add(base->row, [&] {
      return fmt::format("{}: n = {}, but {} in {}", row_label(context.columns, base->row), base->row.counts.n,
                         sample->row.counts.n, row_label(context.columns, sample->row));
    });
  }
  rows.report(
      "baseline-few", "an error of the baseline moves all speedups together",
      {fmt::format("give the baseline as many runs: `hpcbench status {0}` names those without a value; `hpcbench run {0}` "
                   "measures those that have not begun, `hpcbench retry {0}` those that failed. If all planned runs of the "
                   "baseline have a value, set `repeats` in the experiment file to the larger number first",
                   context.experiment.name),
       "import as many runs of the baseline, if there are more; else state how few they are"},
      found);
}

void warn_unresolved(const WarningContext& context, Warnings& found) {
  Sightings rows(context);
  for (const Sample* sample : context.shown) {
    const Row& row = sample->row;
    if (!row.speedup || row.speedup->resolved != false) continue;
    rows.add(row, [&] {
      return fmt::format("{}: speedup {:.3g} to {:.3g}", row_label(context.columns, row), row.speedup->interval->low,
                         row.speedup->interval->high);
    });
  }
  rows.report("unresolved", "the interval holds 1: these runs do not tell whether it is faster or slower than the baseline",
              {"claim no difference; to tell them apart takes a study with more `repeats`, fixed before it begins",
               "claim no difference: these runs cannot show one"},
              found);
}

}  // namespace hpcbench
