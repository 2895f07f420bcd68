#include "render/blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "base/executor_kind.hpp"
#include "base/text.hpp"
#include "plan/baselines.hpp"
#include "render/batch_system_script.hpp"
#include "render/block_parts.hpp"
#include "render/packing.hpp"

namespace hpcbench {

namespace {

constexpr double kRunMarginS = 20;    // to start a step, and to end one that has reached its limit
constexpr double kBlockMarginS = 60;  // once

std::string place_of_allocation(const Experiment& experiment, const char* key = "per") {
  return experiment.place_of_key(std::string("allocation.") + key);
}

/// What configurations of one block have in common.
std::vector<std::string> shape_of(const Experiment& experiment, const Configuration& configuration) {
  std::vector<std::string> options = slurm_block_options(experiment, configuration);
  if (experiment.mixes_shapes())
    std::erase_if(options, [](const std::string& option) { return option.starts_with("--nodes="); });
  return options;
}

/// The one of these runs with the most nodes.
std::size_t largest_of(const Plan& plan, const std::vector<PlannedRun>& runs, const std::vector<std::size_t>& block) {
  std::size_t largest = runs[block.front()].configuration;
  for (const std::size_t i : block) {
    const std::size_t other = runs[i].configuration;
    if (plan.configurations[other].nodes > plan.configurations[largest].nodes) largest = other;
  }
  return largest;
}

/// Indices of runs by repeat and by what they ask for beside the time, in the order of their first ones.
std::vector<std::vector<std::size_t>> group_runs(const Experiment& experiment, const Plan& plan,
                                                 const std::vector<PlannedRun>& runs, bool by_shape) {
  std::vector<std::vector<std::string>> shapes(plan.configurations.size());
  std::map<std::pair<int, std::vector<std::string>>, std::size_t> known;
  std::vector<std::vector<std::size_t>> blocks;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const PlannedRun& run = runs[i];
    std::vector<std::string>& shape = shapes[run.configuration];
    if (by_shape && shape.empty()) shape = shape_of(experiment, plan.configurations[run.configuration]);
    const auto [place, fresh] = known.try_emplace({run.block, shape}, blocks.size());
    if (fresh) blocks.emplace_back();
    blocks[place->second].push_back(i);
  }
  return blocks;
}

/// What a run's part of a block's time is: its limit, or what is estimated, and what its beginning and its end may take.
std::optional<double> share_s(const Plan& plan, const PlannedRun& run, const BlockTimes& times) {
  const Configuration& configuration = plan.configurations[run.configuration];
  const std::optional<double>& limit_s = configuration.work->resources.time_s;
  if (!limit_s) return std::nullopt;
  const RunEstimate* const estimate = times.estimate_of(configuration.id, run.attempt);
  return (estimate != nullptr ? estimate->seconds : *limit_s) + kRunMarginS;
}

/// Each configuration's baseline, itself where it has none.
std::vector<std::size_t> baselines_of(const Experiment& experiment, const Plan& plan) {
  std::vector<std::size_t> found(plan.configurations.size());
  std::iota(found.begin(), found.end(), std::size_t{0});
  if (experiment.baseline.empty()) return found;
  const Baselines baselines(experiment, plan);
  for (std::size_t i = 0; i < found.size(); ++i) found[i] = baselines.of(plan.bindings(plan.configurations[i])).value_or(i);
  return found;
}

/// The longest job that a block may be, where it is known and the block needs more; else null.
const LongestJob* too_short_job(const Experiment& experiment, const Plan& plan, const std::vector<PlannedRun>& block,
                                const BlockTimes& times) {
  const std::string names = partition_of(experiment, plan.configurations[block.front().configuration]);
  const auto longest = times.longest.find(names);
  if (longest == times.longest.end()) return nullptr;
  return block_time_s(plan, block, times, lanes_of(experiment, block.size())).value_or(0) > longest->second.seconds
             ? &longest->second
             : nullptr;
}

std::vector<PlannedRun> chosen_runs(const std::vector<PlannedRun>& runs, const std::vector<std::size_t>& block) {
  std::vector<PlannedRun> chosen;
  for (const std::size_t i : block) chosen.push_back(runs[i]);
  return chosen;
}

/// A block of the plan, in one part or, where it is longer than a job may be, in several.
struct PartedBlock {
  std::vector<std::size_t> runs;
  std::vector<std::vector<std::size_t>> parts;
  const LongestJob* limit = nullptr;  // why there are several
};

/// group_runs, and what Slurm would refuse split.
std::vector<PartedBlock> part_blocks(const Experiment& experiment, const Plan& plan, const std::vector<PlannedRun>& runs,
                                     bool by_shape, const BlockTimes& times) {
  std::vector<PartedBlock> parted;
  std::vector<std::size_t> baselines;
  for (std::vector<std::size_t>& block : group_runs(experiment, plan, runs, by_shape)) {
    const LongestJob* const limit = too_short_job(experiment, plan, chosen_runs(runs, block), times);
    std::vector<std::vector<std::size_t>> parts = {block};
    if (limit != nullptr) {
      if (baselines.empty()) baselines = baselines_of(experiment, plan);
      std::vector<PartMember> members;
      for (const std::size_t i : block) {
        const std::size_t configuration = runs[i].configuration;
        members.push_back({share_s(plan, runs[i], times).value_or(0), configuration, baselines[configuration]});
      }
      parts = split_block(members, limit->seconds - kBlockMarginS);
      for (std::vector<std::size_t>& part : parts) {
        for (std::size_t& member : part) member = block[member];
      }
    }
    parted.push_back({std::move(block), std::move(parts), limit});
  }
  return parted;
}

std::string minutes_text(std::optional<double> seconds) {
  if (!seconds) return "no time limit";
  const auto minutes = static_cast<long long>(std::ceil(*seconds / 60));
  return minutes < 60 ? fmt::format("{} min", minutes) : fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

/// `1.25 GPU-hours`, or node-hours in a study without GPUs.
std::string hours_text(const Plan& plan, const Configuration& configuration, double node_s) {
  const bool has_gpus = plan.has_gpus && configuration.gpus_per_node > 0;
  const double hours = node_s / 3600 * (has_gpus ? configuration.gpus_per_node : 1);
  return fmt::format("{:.3g} {}", hours, has_gpus ? "GPU-hours" : "node-hours");
}

/// In percent.
double idle_share(const BlockShape& shape) { return shape.node_s > 0 ? 100 * shape.idle_s / shape.node_s : 0; }

/// Smaller runs may take fewer nodes of a block, and otherwise what the others take.
void check_equal_shapes(const Experiment& experiment, const Plan& plan) {
  if (plan.configurations.empty()) return;
  const Configuration& first = plan.configurations.front();
  const std::vector<std::string> shape = shape_of(experiment, first);
  for (const Configuration& configuration : plan.configurations) {
    const std::vector<std::string> other = shape_of(experiment, configuration);
    if (other == shape) continue;
    const auto missing_in = [](const std::vector<std::string>& from, const std::vector<std::string>& in) {
      std::vector<std::string> options;
      std::copy_if(from.begin(), from.end(), std::back_inserter(options),
                   [&](const std::string& option) { return std::find(in.begin(), in.end(), option) == in.end(); });
      return options.empty() ? std::string("nothing of the kind") : "`" + join(options, " ") + "`";
    };
    throw InputError(fmt::format(
        "{}: error: `shapes: mixed` takes configurations that differ in their number of nodes alone: {} asks for {}, and {} "
        "for {}\n  = remove `shapes: mixed`: each shape has blocks of its own",
        place_of_allocation(experiment, "shapes"), plan.describe_point(first), missing_in(shape, other),
        plan.describe_point(configuration), missing_in(other, shape)));
  }
}

BlockShape shape_of_part(const Experiment& experiment, const Plan& plan, const std::vector<PlannedRun>& runs,
                         const std::vector<std::size_t>& part, const BlockTimes& times) {
  const std::vector<PlannedRun> chosen = chosen_runs(runs, part);
  const int lanes = lanes_of(experiment, chosen.size());
  BlockShape shape{{}, largest_of(plan, runs, part), part.size(), lanes, block_time_s(plan, chosen, times, lanes)};
  const Configuration& largest = plan.configurations[shape.configuration];
  shape.options = slurm_block_options(experiment, largest, shape.time_s, lanes);
  for (const std::size_t i : part) {
    const Configuration& configuration = plan.configurations[runs[i].configuration];
    const double time_s = configuration.work->resources.time_s.value_or(0);
    shape.node_s += largest.nodes * time_s;
    shape.idle_s += (largest.nodes - configuration.nodes) * time_s;
  }
  return shape;
}

[[noreturn]] void refuse_idle(const Experiment& experiment, const Plan& plan, const BlockShape& shape) {
  const Configuration& largest = plan.configurations[shape.configuration];
  const char* const key = experiment.origins.contains("allocation.idle") ? "idle" : "shapes";
  throw InputError(fmt::format(
      "{}: error: smaller runs leave {:.0f} % of a block idle ({} of {}, by their time limits), and `allocation.idle` allows "
      "{:.4g} %\n  = remove `shapes: mixed`: each number of nodes has blocks of its own; or say `idle: {:.0f} %`",
      place_of_allocation(experiment, key), idle_share(shape), hours_text(plan, largest, shape.idle_s),
      hours_text(plan, largest, shape.node_s), 100 * experiment.most_idle, std::ceil(idle_share(shape))));
}

}  // namespace

std::vector<PlannedRun> repeats_in_order(const Plan& plan) {
  std::vector<PlannedRun> runs;
  for (const PlannedRun& run : runs_in_order(plan)) {
    if (!run.name.is_warmup()) runs.push_back(run);
  }
  return runs;
}

std::optional<double> block_time_s(const Plan& plan, const std::vector<PlannedRun>& runs, const BlockTimes& times, int lanes) {
  double sum_s = 0, longest_s = 0;
  for (const PlannedRun& run : runs) {
    const std::optional<double> needed_s = share_s(plan, run, times);
    if (!needed_s) return std::nullopt;
    sum_s += *needed_s;
    longest_s = std::max(longest_s, *needed_s);
  }
  return kBlockMarginS + packed_time_s(sum_s, longest_s, lanes);
}

namespace {

/// Batches that grow: a job joins the last one of its options while that has room.
class GrowingBatches {
 public:
  explicit GrowingBatches(std::size_t limit) : limit_(limit) {}

  void add(const std::vector<std::string>& options, std::vector<std::size_t> job) {
    const auto found = open_.find(options);
    if (found != open_.end() && batches_[found->second].jobs.size() < limit_) {
      batches_[found->second].jobs.push_back(std::move(job));
      return;
    }
    open_[options] = batches_.size();
    batches_.push_back({options, {std::move(job)}});
  }
  std::vector<JobBatch> take() { return std::move(batches_); }

 private:
  std::size_t limit_;
  std::vector<JobBatch> batches_;
  std::map<std::vector<std::string>, std::size_t> open_;  // by options: where the batch that still grows is
};

}  // namespace

std::vector<JobBatch> make_blocks(const Experiment& experiment, const Plan& plan, const std::vector<PlannedRun>& runs,
                                  std::size_t limit, const RenderContext& context) {
  const bool submits = !context.array_template.empty();
  GrowingBatches batches(limit);
  for (PartedBlock& block : part_blocks(experiment, plan, runs, submits, context.block_times)) {
    for (std::vector<std::size_t>& part : block.parts) {
      std::vector<std::string> options;
      if (submits) {
        const Configuration& any = plan.configurations[largest_of(plan, runs, part)];
        const std::vector<PlannedRun> chosen = chosen_runs(runs, part);
        const int lanes = lanes_of(experiment, chosen.size());
        options = slurm_block_options(experiment, any, block_time_s(plan, chosen, context.block_times, lanes), lanes);
      }
      batches.add(options, std::move(part));
    }
  }
  return batches.take();
}

std::vector<JobBatch> make_jobs(const Experiment& experiment, const Plan& plan, const std::vector<PlannedRun>& runs,
                                std::size_t limit, const RenderContext& context, bool in_blocks) {
  if (in_blocks) return make_blocks(experiment, plan, runs, limit, context);
  GrowingBatches batches(limit);
  for (std::size_t i = 0; i < runs.size(); ++i)
    batches.add(batch_options(experiment, plan.configurations[runs[i].configuration], context), {i});
  return batches.take();
}

std::optional<std::string> render_batch_script(const Experiment& experiment, const Configuration& any, const JobBatch& batch,
                                               const std::string& id, const RenderContext& context, bool in_blocks) {
  if (executor_kind(context.executor).described) return batch_system_script(experiment, any, context);
  if (context.array_template.empty()) return std::nullopt;
  return render_array_script(experiment, batch.options, id, static_cast<int>(batch.jobs.size()), context, in_blocks);
}

void check_blocks(const Experiment& experiment, const Plan& plan) {
  if (!experiment.in_blocks() || !executor_kind(experiment.executor).blocks) return;
  for (const Configuration& configuration : plan.configurations) {
    if (configuration.work->resources.time_s) continue;
    throw InputError(
        fmt::format("{}: error: `allocation: {{per: block}}` needs `resources.time`: the time limit of a block is "
                    "that of its runs together, and {} has none\n  = resources: {{time: \"00:10:00\"}}",
                    place_of_allocation(experiment), plan.describe_point(configuration)));
  }
  if (experiment.mixes_shapes()) check_equal_shapes(experiment, plan);
  check_packing(experiment, plan);
  for (const BlockShape& shape : block_shapes(experiment, plan)) {
    if (shape.idle_s > experiment.most_idle * shape.node_s) refuse_idle(experiment, plan, shape);
    if (shape.runs <= kLargestBlock) continue;
    throw InputError(
        fmt::format("{}: error: a block of {} runs, and one job takes at most {} one after the other\n  = say "
                    "`allocation: {{per: run}}`, or split the matrix into several files",
                    place_of_allocation(experiment), shape.runs, kLargestBlock));
  }
}

void check_longest_jobs(const Experiment& experiment, const Plan& plan, const BlockTimes& times) {
  if (!experiment.in_blocks() || !executor_kind(experiment.executor).blocks) return;
  for (std::size_t i = 0; i < plan.configurations.size(); ++i) {
    const Configuration& configuration = plan.configurations[i];
    const auto longest = times.longest.find(partition_of(experiment, configuration));
    const std::optional<double> needed_s = block_time_s(plan, {{i, {RunKind::repeat, 1}, 1}}, {});
    if (longest == times.longest.end() || !needed_s || *needed_s <= longest->second.seconds) continue;
    const auto said = experiment.origins.find("resources.time");
    throw InputError(fmt::format(
        "{}: error: `resources.time` of {} is {}, a job that begins and ends one such run takes {}, and {} is {}\n  = ask for "
        "less time, or for another partition or QOS",
        said == experiment.origins.end() ? place_of_allocation(experiment) : said->second, plan.describe_point(configuration),
        human_duration(*configuration.work->resources.time_s), minutes_text(needed_s), longest->second.whose,
        minutes_text(longest->second.seconds)));
  }
}

std::vector<BlockShape> block_shapes(const Experiment& experiment, const Plan& plan, const BlockTimes& times) {
  Plan once = plan;
  once.repeats = 1;
  const std::vector<PlannedRun> runs = repeats_in_order(once);
  std::vector<BlockShape> shapes;
  for (const PartedBlock& block : part_blocks(experiment, once, runs, true, times)) {
    for (std::size_t part = 0; part < block.parts.size(); ++part) {
      BlockShape& shape = shapes.emplace_back(shape_of_part(experiment, once, runs, block.parts[part], times));
      shape.part = part + 1;
      shape.parts = block.parts.size();
    }
  }
  return shapes;
}

namespace {

/// Runs that what they are compared with shares the block with, and not the part.
std::size_t count_apart(const Plan& plan, const std::vector<PlannedRun>& runs, const PartedBlock& block,
                        const std::vector<std::size_t>& baselines) {
  std::vector<std::size_t> part_of(plan.configurations.size(), 0);  // from 1; 0: not in this block
  for (std::size_t part = 0; part < block.parts.size(); ++part) {
    for (const std::size_t i : block.parts[part]) part_of[runs[i].configuration] = part + 1;
  }
  return static_cast<std::size_t>(std::count_if(block.runs.begin(), block.runs.end(), [&](std::size_t i) {
    const std::size_t configuration = runs[i].configuration;
    const std::size_t with = part_of[baselines[configuration]];
    return with != 0 && with != part_of[configuration];
  }));
}

/// Why blocks are split, and what that means for speedups.
std::vector<std::string> describe_parts(const Experiment& experiment, const Plan& plan, const BlockTimes& times) {
  Plan once = plan;
  once.repeats = 1;
  const std::vector<PlannedRun> runs = repeats_in_order(once);
  std::vector<std::string> lines;
  for (const PartedBlock& block : part_blocks(experiment, once, runs, true, times)) {
    if (block.limit == nullptr) continue;
    const std::size_t apart = count_apart(once, runs, block, baselines_of(experiment, once));
    std::string pairs;
    if (!experiment.baseline.empty()) {
      pairs = apart == 0 ? "; each part has what its runs are compared with"
                         : fmt::format(
                               "; {} not in the part of what they are compared with: their speedups compare independent "
                               "runs",
                               counted(static_cast<long long>(apart), "configuration is", "configurations are"));
    }
    const std::vector<PlannedRun> whole = chosen_runs(runs, block.runs);
    const int lanes = lanes_of(experiment, whole.size());
    lines.push_back(fmt::format("blocks: {} take {} {}, and {} is {}: each block is split into {}{}",
                                counted(static_cast<long long>(block.runs.size()), "run", "runs"),
                                minutes_text(block_time_s(once, whole, times, lanes)), pace_text(lanes), block.limit->whose,
                                minutes_text(block.limit->seconds),
                                counted(static_cast<long long>(block.parts.size()), "part", "parts"), pairs));
  }
  return lines;
}

}  // namespace

std::vector<std::string> describe_blocks(const Experiment& experiment, const Plan& plan, const BlockTimes& times) {
  std::vector<std::string> lines;
  if (!experiment.in_blocks()) return lines;
  if (!executor_kind(experiment.executor).blocks) {
    lines.push_back(fmt::format("blocks: {} of {}, one run after the other{}", counted(plan.repeats, "repeat", "repeats"),
                                counted(static_cast<long long>(plan.configurations.size()), "run", "runs"),
                                experiment.packs_runs() ? "; `side_by_side` needs Slurm, and `run` refuses it here" : ""));
    return lines;
  }
  const std::vector<BlockShape> shapes = block_shapes(experiment, plan, times);
  for (const BlockShape& shape : shapes) {
    const auto size = static_cast<long long>(shape.runs);
    const Configuration& largest = plan.configurations[shape.configuration];
    const std::string idle = shape.idle_s > 0
                                 ? fmt::format("; smaller runs leave {:.0f} % of it idle, {} in all, by their time limits",
                                               idle_share(shape), hours_text(plan, largest, shape.idle_s * plan.repeats))
                                 : "";
    const std::string part = shape.parts > 1 ? fmt::format(" (part {} of {})", shape.part, shape.parts) : "";
    lines.push_back(fmt::format("blocks: {} of {}{}, {}: {} x {} each; {} in the queue instead of {}{}",
                                counted(plan.repeats, "job", "jobs"), counted(size, "run", "runs"), part,
                                pace_text(shape.lanes), counted(largest.nodes, "node", "nodes"), minutes_text(shape.time_s),
                                counted(plan.repeats, "place", "places"), plan.repeats * size, idle));
  }
  for (std::string& line : describe_parts(experiment, plan, times)) lines.push_back(std::move(line));
  const auto different = std::count_if(shapes.begin(), shapes.end(), [](const BlockShape& shape) { return shape.part == 1; });
  if (different > 1) {
    lines.push_back(fmt::format(
        "blocks: the configurations ask Slurm for {} different shapes of job, each with blocks of its own: speedups between "
        "shapes compare different allocations",
        different));
  }
  if (experiment.estimates_time()) {
    for (std::string& line : describe_estimates(plan, times)) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace hpcbench
