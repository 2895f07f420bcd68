#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "render/attempt.hpp"

namespace hpcbench {

/// Most runs of a block: a job of Slurm has at most 40,000 steps (MaxStepCount), and a run that cannot begin takes three.
inline constexpr std::size_t kLargestBlock = 1000;

/// Jobs that ask for the same things: an array, one job an element. A job executes a list of runs in order: one run, or the
/// runs of a block.
struct JobBatch {
  std::vector<std::string> options;            // of #SBATCH lines, or the like
  std::vector<std::vector<std::size_t>> jobs;  // indices into the runs that were given
};

/// The runs of a plan that blocks are made of: without warm-ups, which would warm another node.
std::vector<PlannedRun> repeats_in_order(const Plan& plan);

/// What the job of a block of these runs asks for, in seconds: their limits, or what is estimated, for each what its beginning
/// and its end may take beside that, and a minute. Absent where one of them has no limit. `lanes`: so many go on at a time
/// (packed_time_s).
std::optional<double> block_time_s(const Plan& plan, const std::vector<PlannedRun>& runs, const BlockTimes& times,
                                   int lanes = 1);

/// The blocks of these runs, in their order, longer ones than Slurm takes in parts (split_block): of each repeat those that ask
/// for the same things but for the time and, with mixed shapes, the number of nodes, of which a block has the most that one of
/// its runs has. A batch has at most `limit` of them.
std::vector<JobBatch> make_blocks(const Experiment& experiment, const Plan& plan, const std::vector<PlannedRun>& runs,
                                  std::size_t limit, const RenderContext& context);

/// The jobs of these runs: blocks where `in_blocks` says so, otherwise one run each. A batch has at most `limit` jobs.
std::vector<JobBatch> make_jobs(const Experiment& experiment, const Plan& plan, const std::vector<PlannedRun>& runs,
                                std::size_t limit, const RenderContext& context, bool in_blocks);

/// The script of such a batch, whose id is `id` and which has runs of `any`; absent where the executor needs none.
std::optional<std::string> render_batch_script(const Experiment& experiment, const Configuration& any, const JobBatch& batch,
                                               const std::string& id, const RenderContext& context, bool in_blocks = false);

/// InputError, at the place of `allocation`, where the runs of a plan cannot be allocated in blocks by Slurm, or smaller runs
/// leave more of them idle than the file allows.
void check_blocks(const Experiment& experiment, const Plan& plan);

/// InputError, at the place of `resources.time`, where a single run takes longer than the longest job that Slurm takes.
void check_longest_jobs(const Experiment& experiment, const Plan& plan, const BlockTimes& times);

/// Each kind of job that the plan's blocks, or their parts, are, with its options and one of its configurations, which has the
/// most nodes.
struct BlockShape {
  std::vector<std::string> options;
  std::size_t configuration = 0;
  std::size_t runs = 0;  // of a block,
  int lanes = 1;         // so many at a time
  std::optional<double> time_s;
  double node_s = 0;                // by the limits of its runs: what its nodes are taken for,
  double idle_s = 0;                // and what of that smaller runs leave idle
  std::size_t part = 1, parts = 1;  // of a block
};
std::vector<BlockShape> block_shapes(const Experiment& experiment, const Plan& plan, const BlockTimes& times = {});

/// What the plan's blocks come to, for people: a line for each shape; with `time: auto` what each configuration's share of
/// their time is made of.
std::vector<std::string> describe_blocks(const Experiment& experiment, const Plan& plan, const BlockTimes& times = {});

}  // namespace hpcbench
