#include "launch/launch_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/host_list.hpp"
#include "base/shuffle.hpp"
#include "base/text.hpp"
#include "launch/lanes.hpp"
#include "launch/launch.hpp"
#include "launch/slurm_job.hpp"
#include "launch/supervisor.hpp"
#include "runfiles/attempt_hash.hpp"
#include "runfiles/block_claim.hpp"
#include "runfiles/claim.hpp"
#include "runfiles/rank_binding.hpp"
#include "runfiles/run_info.hpp"

namespace hpcbench {

namespace {

constexpr double kEndingReserveS = 15;  // from a run's limit to the end of its step

/// An attempt of a batch.
struct BatchAttempt {
  std::string path;  // relative to the folder of the experiment
  std::string hash;  // attempt_hash; empty: of a batch of an earlier version
};

/// In the array's own output: an attempt's files are its runs'.
void say_of_block(const std::string& text) {
  std::fputs(("hpcbench: " + text + "\n").c_str(), stderr);
  std::fflush(stderr);
}

/// The attempts of a batch, in order. `hash`: of its list of hashes; UnavailableError where that differs. Empty: the list has
/// none.
std::vector<BatchAttempt> read_batch(const std::string& batch_folder, const std::string& hash) {
  const std::string path = batch_folder + "/" + (hash.empty() ? "attempts.txt" : kHashesFile);
  const std::string text = read_file(path);
  if (!hash.empty() && sha256_hex(text) != hash) {
    throw UnavailableError(fmt::format("error: {} changed after the batch was submitted; nothing of it is executed", path));
  }
  std::vector<BatchAttempt> attempts;
  for (const std::string& line : split(text, '\n')) {
    const std::size_t blank = hash.empty() ? std::string::npos : line.find(' ');
    if (line.empty() || (!hash.empty() && blank == std::string::npos)) continue;
    attempts.push_back(blank == std::string::npos ? BatchAttempt{line, ""}
                                                  : BatchAttempt{line.substr(blank + 1), line.substr(0, blank)});
  }
  return attempts;
}

/// The attempts of the array's element `index`: those of its line of blocks.txt, or where there is no such file the one in its
/// line of attempts.txt. UnavailableError where there are none. `in_block`: which of the two it is.
std::vector<BatchAttempt> job_attempts(const std::filesystem::path& batch, std::size_t index, const std::string& hash,
                                       bool& in_block) {
  const std::vector<BatchAttempt> attempts = read_batch(batch.string(), hash);
  const std::optional<std::string> lines = read_file_if_there(batch / kBlocksFile);
  in_block = lines.has_value();
  std::vector<BlockLines> blocks = parse_blocks(lines.value_or(""));
  if (!in_block && index < attempts.size()) return {attempts[index]};
  if (index >= blocks.size() || blocks[index].first + blocks[index].count > attempts.size()) {
    const char* const list = in_block ? kBlocksFile : "attempts.txt";
    throw UnavailableError(fmt::format("error: no attempt in line {} of {}", index + 1, (batch / list).string()));
  }
  const auto first = attempts.begin() + static_cast<std::ptrdiff_t>(blocks[index].first);
  return {first, first + static_cast<std::ptrdiff_t>(blocks[index].count)};
}

RunInfo run_of(const std::string& attempt_folder) { return parse_run_json(read_file(attempt_folder + "/run.json")); }

/// Whether the job lasts long enough for this attempt: for its time limit, or its estimate where there is one. True where
/// nothing says so. `end_s`: the job's end, once asked for.
bool has_time(const std::string& attempt_folder, const SlurmJobFacts& job, std::optional<double>& end_s) {
  const RunInfo run = run_of(attempt_folder);
  const std::optional<double> share_s = run.estimated_s ? run.estimated_s : run.time_limit_s;
  if (!share_s) return true;
  const double needed_s = unix_time_s() + *share_s + kEndingReserveS;
  if (!end_s || needed_s > *end_s) end_s = job_end_unix_s(job);  // which may have been moved
  return !end_s || needed_s <= *end_s;
}

/// The nodes of the job in an order that the batch's id, which is random, and the block's number decide; kept in the block's
/// folder. Empty where every run has all nodes. UnavailableError where the job's list does not name all its nodes.
std::vector<std::string> draw_nodes(const std::vector<std::string>& attempt_folders, const RunInfo& first,
                                    const SlurmJobFacts& job, const std::string& token, std::size_t index,
                                    const std::string& folder) {
  const char* const count = std::getenv("SLURM_JOB_NUM_NODES");
  const auto nodes = static_cast<std::size_t>(std::max(1L, count == nullptr ? 1L : std::strtol(count, nullptr, 10)));
  if (nodes == 1) return {};  // no run is smaller: the others are not read
  const auto is_smaller = [&](const RunInfo& run) { return static_cast<std::size_t>(run.nodes) < nodes; };
  const bool mixed = is_smaller(first) || std::any_of(attempt_folders.begin() + 1, attempt_folders.end(),
                                                      [&](const std::string& attempt) { return is_smaller(run_of(attempt)); });
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

/// A block that is ours, and what its runs have to know of it.
struct OwnBlock {
  std::filesystem::path batch;
  std::vector<BatchAttempt> attempts;
  std::vector<std::string> folders;
  SlurmJobFacts job;
  BlockPlace place;

  std::string token() const { return batch.filename().string(); }
  std::string refused_file() const { return (batch / kRefusedFile).string(); }
  /// Says why nothing more is begun from the attempt `next` on, if there is any. The block's exit code.
  int leave(std::size_t next, const std::string& why) const {
    if (next < attempts.size()) say_of_block(fmt::format("{}: {} left to `hpcbench run`", why, attempts.size() - next));
    return 1;
  }
};

constexpr int kRunWasApart = 0;
constexpr int kRunIsBroken = 1;  // or was ended from outside
constexpr int kRunHasShared = 2;

/// In a process of its own: one attempt's signals and children are nobody else's.
int run_in_lane(const OwnBlock& block, std::size_t number) {
  try {
    const AttemptEnd end = launch_in_block(block.folders[number], block.token(), block.attempts[number].hash, block.place);
    const std::optional<std::string>& shared = end.facts.shared;
    if (shared) write_file(block.refused_file(), *shared + "\n", Durability::durable);
    if (shared) return kRunHasShared;
    return end.broken || end.stopped ? kRunIsBroken : kRunWasApart;
  } catch (const std::exception& problem) {
    say_of_block(problem.what());
    return kRunIsBroken;
  }
}

/// Runs the attempts in order, `width` at a time. Stops, and leaves the rest, where the next one would fare as the last.
int run_attempts(const OwnBlock& block, std::size_t width) {
  Lanes lanes(width);
  std::optional<double> end_s;
  std::size_t next = 0;
  std::string why;  // nothing more begins
  while (true) {
    while (why.empty() && next < block.attempts.size() && !lanes.full()) {
      const auto refused = width > 1 ? read_file_if_there(block.refused_file()) : std::nullopt;
      if (lanes.asked_to_end()) {
        why = "the job was asked to end";
      } else if (refused) {
        why = std::string(trim(*refused));
      } else if (next > 0 && !has_time(block.folders[next], block.job, end_s)) {
        why = fmt::format("the time that the job has left is too short for {}", block.attempts[next].path);
      } else if (lanes.start(next, [&] { return run_in_lane(block, next); })) {
        ++next;
      } else {
        why = "no process could be started";
      }
    }
    if (lanes.empty()) break;
    for (const Lanes::End& end : lanes.wait()) {
      if (why.empty() && end.status != kRunWasApart && end.status != kRunHasShared)
        why = fmt::format("{} was not ended by its program", block.attempts[end.work].path);
    }
  }
  return why.empty() ? 0 : block.leave(next, why);
}

/// Claims the block, then runs its attempts.
int run_block(OwnBlock& block, std::size_t index) {
  const std::string folder = block_folder(block.batch.string(), index);
  make_folders(folder);
  const Claim claim{.revoked = false, .why = {}, .token = block.token(), .job = block.job.name, .process = this_process()};
  if (!try_claim(folder, claim)) {
    say_of_block("another job has this block already; leaving");
    return 0;
  }
  const RunInfo first = run_of(block.folders.front());
  const auto most = static_cast<std::size_t>(std::max(1, first.side_by_side));
  const std::size_t width = std::clamp<std::size_t>(block.folders.size(), 1, most);
  block.place.nodes = draw_nodes(block.folders, first, block.job, block.token(), index, folder);
  if (width > 1) block.place.bindings = folder + "/" + kBindingsFile;
  return run_attempts(block, width);
}

}  // namespace

int launch_job(const std::string& batch_folder, const std::string& hash) {
  namespace fs = std::filesystem;
  const Supervisor holds_signals(Supervisor::Place::batch);  // until an attempt's own takes them
  const fs::path batch = fs::absolute(batch_folder + "/.").lexically_normal().parent_path();
  const std::size_t index = array_element("launch --job");
  bool in_block = false;
  OwnBlock block{batch, job_attempts(batch, index, hash, in_block), {}, slurm_job_facts(), {}};
  for (const BatchAttempt& attempt : block.attempts)
    block.folders.push_back((batch.parent_path().parent_path() / attempt.path).string());
  return in_block ? run_block(block, index) : launch_attempt(block.folders.front(), block.token(), block.attempts.front().hash);
}

}  // namespace hpcbench
