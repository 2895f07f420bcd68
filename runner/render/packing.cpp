#include "render/packing.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "plan/calibration.hpp"

namespace hpcbench {

namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// The number that a text begins with, and what follows it.
std::optional<std::pair<long long, std::string>> leading_number(std::string_view text) {
  long long number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number <= 0 || number > 1'000'000'000'000) return std::nullopt;
  return std::pair{number, std::string(end, text.data() + text.size())};
}

[[noreturn]] void refuse(const Experiment& experiment, const std::string& what, const std::string& advice,
                         const char* key = "allocation.side_by_side") {
  throw InputError(fmt::format("{}: error: {}\n  = {}", experiment.place_of_key(key), what, advice));
}

}  // namespace

std::size_t count_alone(const Plan& plan, const std::vector<DueRun>& runs) {
  return static_cast<std::size_t>(std::count_if(
      runs.begin(), runs.end(), [&](const DueRun& run) { return plan.configurations[run.planned.configuration].alone; }));
}

int lanes_of(const Experiment& experiment, const Plan& plan, const std::vector<DueRun>& runs) {
  if (!experiment.packs_runs()) return 1;
  const std::size_t alone = count_alone(plan, runs);
  if (alone > 0 && alone == runs.size()) return experiment.side_by_side;
  const std::size_t width = std::max(alone, runs.size() - alone);
  return static_cast<int>(std::clamp<std::size_t>(width, 1, static_cast<std::size_t>(experiment.side_by_side)));
}

std::optional<std::string> times_memory(const std::string& memory, int lanes) {
  const auto parts = leading_number(memory);
  if (!parts) return std::nullopt;
  return std::to_string(parts->first * lanes) + parts->second;
}

std::optional<std::string> times_gres(const std::string& gres, int lanes) {
  std::vector<std::string> items;
  for (const std::string& item : split(gres, ',')) {
    const std::size_t colon = item.rfind(':');
    const std::string last = colon == std::string::npos ? "" : item.substr(colon + 1);
    if (last.empty() || !is_digit(last.front())) {
      items.push_back(fmt::format("{}:{}", item, lanes));
      continue;
    }
    const auto count = leading_number(last);
    if (!count || !count->second.empty()) return std::nullopt;
    items.push_back(fmt::format("{}:{}", item.substr(0, colon), count->first * lanes));
  }
  return join(items, ",");
}

double packed_time_s(double sum_s, double longest_s, int lanes) { return sum_s / lanes + longest_s * (lanes - 1) / lanes; }

void check_packing(const Experiment& experiment, const Plan& plan) {
  if (!experiment.packs_runs()) return;
  for (const Configuration& configuration : plan.configurations) {
    const Resources& resources = configuration.work->resources;
    const std::string point = plan.describe_point(configuration);
    if (configuration.nodes > 1) {
      refuse(experiment, fmt::format("runs side by side share one node, and {} has {} nodes", point, configuration.nodes),
             "remove `side_by_side`, or measure one node and several nodes in files of their own");
    }
    if (!resources.mem || !times_memory(*resources.mem, 1)) {
      refuse(
          experiment,
          fmt::format("runs side by side need `resources.mem`, a part of the node's memory for each: without one the first run "
                      "has all of it, and the next waits; {} has none",
                      point),
          "resources: {mem: 4G}");
    }
    if (resources.gres && !times_gres(*resources.gres, 1)) {
      refuse(experiment, fmt::format("`gres: {}` cannot be multiplied for runs side by side", *resources.gres),
             "write counts as plain numbers: gpu:a100:2");
    }
  }
}

void check_calibration(const Experiment& experiment, const Plan& plan, const BlockShape& shape) {
  if (!experiment.calibrates() || shape.runs - shape.alone > 1) return;
  refuse(experiment,
         fmt::format("a block of {} has {} to pack, and nothing goes on beside it",
                     plan.describe_point(plan.configurations[shape.configuration]),
                     shape.runs == shape.alone ? "no run" : "one run"),
         "a block has one repeat of each configuration that asks Slurm for the same things: give `matrix` two such at least",
         "allocation.calibrate");
}

std::string pace_text(int lanes, std::size_t runs, std::size_t alone) {
  if (lanes <= 1 || alone == runs) return "one after the other";
  return fmt::format("{}{} at a time", alone > 0 ? fmt::format("{} alone, the others ", alone) : "", lanes);
}

namespace {

/// `1.25 GPU-hours`, of all blocks; core-hours in a study without GPUs.
std::string idle_beside_alone(const Plan& plan, const std::vector<BlockShape>& shapes) {
  double gpu_s = 0, core_s = 0;
  for (const BlockShape& shape : shapes) {
    const Configuration& any = plan.configurations[shape.configuration];
    const double idle_s = shape.alone_s * (shape.lanes - 1) * plan.repeats;
    gpu_s += plan.has_gpus ? idle_s * any.gpus_per_node : 0;
    core_s += idle_s * any.node_ranks() * any.work->resources.cpus_per_task;
  }
  return gpu_s > 0 ? fmt::format("{:.3g} GPU-hours", gpu_s / 3600) : fmt::format("{:.3g} core-hours", core_s / 3600);
}

}  // namespace

std::vector<std::string> describe_calibration(const Experiment& experiment, const Plan& plan,
                                              const std::vector<BlockShape>& shapes) {
  const auto alone = std::count_if(plan.configurations.begin(), plan.configurations.end(),
                                   [](const Configuration& each) { return each.alone; });
  // A part of a study may have one of the two alone.
  if (!experiment.calibrates() || alone == 0 || alone == std::ssize(plan.configurations)) return {};
  std::vector<int> first;
  for (int repeat = 1; repeat <= plan.repeats; ++repeat) {
    if (alone_goes_first(plan, repeat)) first.push_back(repeat);
  }
  std::vector<std::string> lines = {fmt::format(
      "calibrate: each run packed and alone, alone first in {} of {}{}; {} beside runs alone stay idle, by their time limits",
      first.size(), counted(plan.repeats, "block", "blocks"),
      first.empty() ? "" : fmt::format(" (repeat {})", fmt::join(first, ", ")), idle_beside_alone(plan, shapes))};
  for (const BlockShape& shape : shapes) {
    const std::size_t packed = shape.runs - shape.alone;
    const std::size_t over = packed % static_cast<std::size_t>(shape.lanes);
    if (shape.part > 1 || over == 0) continue;
    lines.push_back(fmt::format(
        "calibrate: {} packed runs of a block, {} at a time, leave {} at its end with fewer neighbours: a multiple of {} "
        "measures full packing",
        packed, shape.lanes, over, shape.lanes));
  }
  return lines;
}

}  // namespace hpcbench
