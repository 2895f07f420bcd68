#include "launch/launch_block.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/host_list.hpp"
#include "base/shuffle.hpp"
#include "base/text.hpp"
#include "launch/launch.hpp"
#include "launch/slurm_job.hpp"
#include "launch/supervisor.hpp"
#include "runfiles/block_claim.hpp"
#include "runfiles/claim.hpp"
#include "runfiles/run_info.hpp"

namespace hpcbench {

namespace {

constexpr double kEndingReserveS = 15;  // from a run's limit to the end of its step

/// In the array's own output: an attempt's files are its runs'.
void say_of_block(const std::string& text) {
  std::fputs(("hpcbench: " + text + "\n").c_str(), stderr);
  std::fflush(stderr);
}

/// The block's part of attempts.txt. UnavailableError where there is none.
std::vector<std::string> block_attempts(const std::filesystem::path& batch, std::size_t index) {
  const std::vector<std::string> attempts = split(read_file(batch / "attempts.txt"), '\n');
  const std::vector<BlockLines> blocks = parse_blocks(read_file(batch / kBlocksFile));
  if (index >= blocks.size() || blocks[index].first + blocks[index].count > attempts.size())
    throw UnavailableError(fmt::format("error: no block in line {} of {}", index + 1, (batch / kBlocksFile).string()));
  const auto first = attempts.begin() + static_cast<std::ptrdiff_t>(blocks[index].first);
  return {first, first + static_cast<std::ptrdiff_t>(blocks[index].count)};
}

/// Whether the job goes on for as long as was asked for for this attempt: what it may take, or where there is one, an estimate.
/// Where nobody knows, it does. `end_s`: the job's end, once asked for.
bool has_time(const std::string& attempt_folder, const SlurmJobFacts& job, std::optional<double>& end_s) {
  const RunInfo run = parse_run_json(read_file(attempt_folder + "/run.json"));
  const std::optional<double> share_s = run.estimated_s ? run.estimated_s : run.time_limit_s;
  if (!share_s) return true;
  const double needed_s = unix_time_s() + *share_s + kEndingReserveS;
  if (!end_s || needed_s > *end_s) end_s = job_end_unix_s(job);  // which may have been moved
  return !end_s || needed_s <= *end_s;
}

bool is_smaller_than(std::size_t nodes, const std::string& attempt_folder) {
  return static_cast<std::size_t>(parse_run_json(read_file(attempt_folder + "/run.json")).nodes) < nodes;
}

/// The nodes of the job in an order that the batch's id, which is random, and the block's number decide; kept in the block's
/// folder. Empty where every run has all nodes. UnavailableError where the job's list does not name all its nodes.
std::vector<std::string> draw_nodes(const std::vector<std::string>& attempt_folders, const SlurmJobFacts& job,
                                    const std::string& token, std::size_t index, const std::string& folder) {
  const char* const count = std::getenv("SLURM_JOB_NUM_NODES");
  const auto nodes = static_cast<std::size_t>(std::max(1L, count == nullptr ? 1L : std::strtol(count, nullptr, 10)));
  if (nodes == 1) return {};  // no run is smaller: none of them is read
  const bool mixed = std::any_of(attempt_folders.begin(), attempt_folders.end(),
                                 [&](const std::string& attempt) { return is_smaller_than(nodes, attempt); });
  if (!mixed) return {};
  const std::vector<std::string> names = expand_host_list(job.nodes);
  if (names.size() != nodes) {
    throw UnavailableError(
        fmt::format("error: SLURM_JOB_NODELIST={} does not name the {} nodes of this job", job.nodes, nodes));
  }
  std::uint64_t seed = 0;
  std::from_chars(token.data(), token.data() + token.size(), seed, 16);
  std::vector<std::string> drawn;
  for (const std::size_t i : shuffled(names.size(), seed, index)) drawn.push_back(names[i]);
  write_file(folder + "/" + kDrawnNodes, join(drawn, "\n") + "\n", Durability::none);
  return drawn;
}

}  // namespace

int launch_block(const std::string& batch_folder) {
  namespace fs = std::filesystem;
  const Supervisor holds_signals(Supervisor::Place::batch);  // until an attempt's own takes them
  const fs::path batch = fs::absolute(batch_folder + "/.").lexically_normal().parent_path();
  const char* const text = std::getenv("SLURM_ARRAY_TASK_ID");
  if (text == nullptr) throw UnavailableError("error: launch --block: this is no element of a job array (SLURM_ARRAY_TASK_ID)");
  const auto index = static_cast<std::size_t>(std::max(0L, std::strtol(text, nullptr, 10)));
  const std::vector<std::string> attempts = block_attempts(batch, index);
  std::vector<std::string> folders;
  for (const std::string& attempt : attempts) folders.push_back((batch.parent_path().parent_path() / attempt).string());
  const SlurmJobFacts job = slurm_job_facts();
  const std::string folder = block_folder(batch.string(), index);
  make_folders(folder);
  const std::string token = batch.filename().string();
  if (!try_claim(folder, {.revoked = false, .why = {}, .token = token, .job = job.name, .process = this_process()})) {
    say_of_block("somebody has this block already; leaving");
    return 0;
  }
  const std::vector<std::string> nodes = draw_nodes(folders, job, token, index, folder);
  std::optional<double> end_s;
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    const std::size_t left = attempts.size() - i;
    if (i > 0 && !has_time(folders[i], job, end_s)) {
      say_of_block(
          fmt::format("the time that the job has left is too short for {}: {} left to `hpcbench run`", attempts[i], left));
      return 1;
    }
    if (!launch_in_block(folders[i], token, nodes).may_go_on) {
      say_of_block(fmt::format("{} was not ended by its program: {} left to `hpcbench run`", attempts[i], left - 1));
      return 1;
    }
  }
  return 0;
}

}  // namespace hpcbench
