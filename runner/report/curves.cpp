#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "report/samples.hpp"

namespace hpcbench {
namespace {

/// Collects values of several runs, one run after the other, and the number of runs with any.
template <std::size_t kFields>
struct Gathered {
  std::array<std::vector<double>, kFields> values;
  int runs = 0;
  const AttemptRecord* last = nullptr;

  void add(std::size_t field, double value, const AttemptRecord* run) {
    values[field].push_back(value);
    if (run != last) ++runs;
    last = run;
  }
};

constexpr std::array<std::string_view, 3> kEpochSeries = {"train_loss", "val_loss", "epoch_s"};
constexpr std::array<std::string_view, 4> kRankSeries = {"rank_train_s", "rank_user_s", "rank_sys_s", "rank_real_s"};

struct GatheredSeries {
  std::map<long long, Gathered<3>> epochs;
  std::map<long long, Gathered<4>> ranks;
};

template <std::size_t kFields>
std::size_t field_of(const std::array<std::string_view, kFields>& names, const std::string& name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

/// In one pass: a run may have a thousand points of an unused series, and points of one name are adjacent.
GatheredSeries gather_series(const Sample& sample) {
  GatheredSeries gathered;
  for (const AttemptRecord* run : sample.runs) {
    if (run->state != State::succeeded) continue;
    const std::string* name = nullptr;
    std::size_t epoch_field = kEpochSeries.size();
    std::size_t rank_field = kRankSeries.size();
    for (const SeriesPoint& point : run->series) {
      if (name == nullptr || *name != point.name) {
        epoch_field = field_of(kEpochSeries, point.name);
        rank_field = field_of(kRankSeries, point.name);
        name = &point.name;
      }
      if (!std::isfinite(point.value) || !point.word.empty()) continue;
      if (epoch_field < kEpochSeries.size()) gathered.epochs[point.index].add(epoch_field, point.value, run);
      if (rank_field < kRankSeries.size()) gathered.ranks[point.index].add(rank_field, point.value, run);
    }
  }
  return gathered;
}

void find_best_epoch(Row& row) {
  const EpochPoint* best = nullptr;
  const EpochPoint* last = nullptr;  // with both losses
  for (const EpochPoint& point : row.losses.curve) {
    if (point.val_loss && (best == nullptr || *point.val_loss < *best->val_loss)) best = &point;
    if (point.val_loss && point.train_loss) last = &point;
  }
  if (best != nullptr) row.losses.best_epoch = best->epoch;
  if (last == nullptr) return;
  row.losses.generalisation_gap = *last->val_loss - *last->train_loss;
  // Every later epoch is worse than the best one, by definition. It is overfitting if the last one is worse by more than noise,
  // while the training loss continued to fall.
  constexpr double kLeastRise = 0.01;
  const bool rises = last->epoch > best->epoch && *last->val_loss > (1 + kLeastRise) * *best->val_loss;
  if (!rises || !best->train_loss || *last->train_loss >= *best->train_loss) return;
  for (const EpochPoint& point : row.losses.curve) {
    if (point.epoch > best->epoch && point.val_loss && !row.losses.overfits_from) row.losses.overfits_from = point.epoch;
  }
}

/// Sums epoch_s until the loss reaches the target; infinite for a run that never does, nullopt for one without the values.
std::optional<double> time_to_loss(const AttemptRecord& run, double target) {
  std::map<long long, double> epoch_s;
  std::map<long long, double> train_loss;
  std::map<long long, double> val_loss;
  for (const SeriesPoint& point : run.series) {
    if (!point.word.empty()) continue;
    if (point.name == "epoch_s") epoch_s[point.index] = point.value;
    if (point.name == "train_loss") train_loss[point.index] = point.value;
    if (point.name == "val_loss") val_loss[point.index] = point.value;
  }
  const auto& losses = val_loss.empty() ? train_loss : val_loss;
  if (losses.empty() || epoch_s.empty()) return std::nullopt;
  double elapsed = 0;
  for (const auto& [epoch, seconds] : epoch_s) {
    elapsed += seconds;
    const auto loss = losses.find(epoch);
    if (loss != losses.end() && loss->second <= target) return elapsed;
  }
  return std::numeric_limits<double>::infinity();
}

/// Runs that miss the target count as infinite: the median is exact while fewer than half of them do.
void time_target(Row& row, const Sample& sample, double target) {
  std::vector<double> times;
  for (const AttemptRecord* run : sample.runs) {
    if (run->state != State::succeeded) continue;
    const auto time = time_to_loss(*run, target);
    if (!time) continue;
    times.push_back(*time);
    row.losses.reached_target += std::isfinite(*time) ? 1 : 0;
  }
  if (2 * static_cast<std::size_t>(row.losses.reached_target) <= times.size()) return;
  row.losses.time_to_target_s = median_of(std::move(times));
}

/// Computes from CPU time, because ranks that wait for each other all take the same real time; from real time if there is no
/// other.
std::optional<double> imbalance_of(const std::vector<RankTimes>& ranks) {
  for (const bool real : {false, true}) {
    double largest = 0;
    double sum = 0;
    std::size_t count = 0;
    for (const RankTimes& rank : ranks) {
      std::optional<double> time = real ? rank.real_s : rank.user_s;
      if (!real && time) *time += rank.sys_s.value_or(0);
      if (!time) continue;
      largest = std::max(largest, *time);
      sum += *time;
      ++count;
    }
    if (count >= 2 && sum > 0) return largest * static_cast<double>(count) / sum;
  }
  return std::nullopt;
}

}  // namespace

void measure_series(Sample& sample, const ReportSettings& settings) {
  Row& row = sample.row;
  const GatheredSeries gathered = gather_series(sample);
  for (const auto& [epoch, of] : gathered.epochs) {
    row.losses.curve.push_back({epoch, of.runs, median_of(of.values[0]), median_of(of.values[1]), median_of(of.values[2])});
  }
  find_best_epoch(row);
  if (settings.target_loss) time_target(row, sample, *settings.target_loss);
  for (const auto& [rank, of] : gathered.ranks) {
    row.times.ranks.push_back(
        {rank, of.runs, median_of(of.values[0]), median_of(of.values[1]), median_of(of.values[2]), median_of(of.values[3])});
  }
  row.times.imbalance = imbalance_of(row.times.ranks);
}

}  // namespace hpcbench
