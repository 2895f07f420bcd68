#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/files.hpp"
#include "base/host.hpp"
#include "base/text.hpp"
#include "base/tool_runner.hpp"
#include "executors/slurm/slurm_parse.hpp"
#include "fakes/fake_executor.hpp"
#include "runfiles/block_claim.hpp"
#include "runfiles/claim.hpp"

namespace hpcbench {

/// A Slurm behind the seam ToolRunner. It outlives executors, as jobs outlive hpcbench. Claims and finished.json are real
/// files.
class FakeSlurm : public ToolRunner {
 public:
  struct Job {
    int array = 0;
    int index = 0;
    std::string name;
    std::string folder;  // of its attempt
    std::string token;
    std::vector<std::string> members = {};  // of a block: the folders of its attempts
    std::string state = "PENDING";
    std::string reason = "Resources";
    std::string nodes = {};  // none while it waits
    bool in_squeue = true;
    bool in_sacct = true;
    bool claimed = false;
    std::string times = {};  // as scontrol shows them: " SubmitTime=... EndTime=... "
    std::string id() const { return index < 0 ? std::to_string(array) : fmt::format("{}_{}", array, index); }
  };
  enum class Fault { none, refuse, limit, busy, die_before, die_after, garbage, time_out_after, full };

  std::vector<Job> jobs;
  std::map<std::string, int> calls;                                        // by tool
  std::vector<std::vector<std::string>> argvs;                             // all of them
  std::map<std::string, int> executed;                                     // by folder: jobs that won their claim
  std::function<Fault(int size)> fault = [](int) { return Fault::none; };  // of the next sbatch
  bool squeue_down = false;
  bool scontrol_down = false;
  std::string controller_start = "N/A";
  bool accounting = true;
  bool sacct_down = false;
  unsigned canceller = 1000;  // jobs that sacct lists
  int max_array_size = 1001;
  int next_id = 100;
  FaultPoints* faults = nullptr;  // hpcbench may die before and after each sbatch

  ToolResult perform(const ToolCall& call) override {
    const std::string& tool = call.argv.front();
    ++calls[tool];
    argvs.push_back(call.argv);
    if (tool == "sbatch") return sbatch(call);
    if (tool == "squeue") return squeue_down ? failure("slurm_load_jobs error: Unable to contact slurm controller") : squeue();
    if (tool == "sacct") return sacct();
    if (tool == "scancel") return scancel(call);
    return scontrol(call);
  }

  Job* find(const std::string& folder) {
    for (Job& job : jobs) {
      if (job.folder == folder) return &job;
    }
    return nullptr;
  }

  /// Its batch script begins: it claims, or ends without touching anything.
  void start(Job& job) {
    job.state = "RUNNING";
    job.reason = "None";
    job.nodes = "n0";
    job.claimed = try_claim(job.folder, claim_of(job));
    if (job.claimed) {
      ++executed[job.folder];
    } else {
      job.state = "COMPLETED";
    }
  }

  /// The launcher of a block begins: it claims the block, or leaves.
  void start_block(Job& job) {
    job.state = "RUNNING";
    job.reason = "None";
    job.nodes = "n0";
    const std::string batch = job.folder.substr(0, job.folder.size() - std::string("/0000000000000000/r01/a1").size());
    const std::string folder = block_folder(batch + "/batches/" + job.token, static_cast<std::size_t>(job.index));
    make_folders(folder);
    job.claimed = try_claim(folder, claim_of(job));
    if (!job.claimed) job.state = "COMPLETED";
  }
  /// It claims the attempt whose turn it is; false if another process has it.
  bool start_member(Job& job, std::size_t place) {
    const bool ours = try_claim(job.members.at(place), claim_of(job));
    if (ours) ++executed[job.members.at(place)];
    return ours;
  }
  void finish_member(Job& job, std::size_t place) {
    if (start_member(job, place)) finish_folder(job.members.at(place), 0);
  }

  void finish(Job& job, int exit_code = 0) {
    if (job.state == "PENDING") start(job);
    if (!job.claimed) return;
    finish_folder(job.folder, exit_code);
    job.state = exit_code == 0 ? "COMPLETED" : "FAILED";
    job.reason = exit_code == 0 ? "None" : "NonZeroExitCode";
  }

  static void end(Job& job, const std::string& state, const std::string& reason) {
    job.state = state;
    job.reason = reason;
  }

  /// Neither squeue nor sacct knows it any more.
  static void forget(Job& job) { job.in_squeue = job.in_sacct = false; }

  void finish_all() {
    for (Job& job : jobs) {
      if (phase_of(job.state) != JobState::ended) finish(job);
    }
  }

 private:
  static Claim claim_of(const Job& job) {
    return {.revoked = false, .why = {}, .token = job.token, .job = job.id(), .process = this_process()};
  }
  static void finish_folder(const std::string& folder, int exit_code) {
    write_file(folder + "/finished.json", fmt::format("{{\"schema\":1,\"exit_code\":{}}}", exit_code), Durability::none);
  }

  static ToolResult failure(const std::string& text) { return {ToolResult::Kind::exited, 1, {}, text + "\n"}; }

  ToolResult sbatch(const ToolCall& call) {
    if (faults != nullptr) faults->pass();
    std::string array;
    for (const std::string& argument : call.argv) {
      if (argument.starts_with("--array=")) array = argument.substr(8, argument.find('%') - 8);
    }
    const std::size_t dash = array.find('-');
    const int first = std::stoi(array.substr(0, dash));
    const int last = std::stoi(array.substr(dash + 1));
    const Fault what = fault(last - first + 1);
    if (what == Fault::refuse) return failure("sbatch: error: Batch job submission failed: Invalid partition name specified");
    if (what == Fault::limit) {
      return failure(
          "sbatch: error: AssocMaxSubmitJobLimit\nsbatch: error: Batch job submission failed: Job violates "
          "accounting/QOS policy (job submit limit, user's size and/or time limits)");
    }
    if (what == Fault::full) return failure("sbatch: error: Batch job submission failed: Resource temporarily unavailable");
    if (what == Fault::busy) {
      return failure("sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)");
    }
    if (what == Fault::die_before) return {ToolResult::Kind::killed, 9, {}, {}};
    const int id = next_id++;
    accept(call, id, first, last);
    if (faults != nullptr) faults->pass();
    if (what == Fault::die_after) return {ToolResult::Kind::killed, 9, {}, {}};
    if (what == Fault::garbage) return {ToolResult::Kind::exited, 0, "sbatch: %%@ job ;;;\n", {}};
    if (what == Fault::time_out_after) return {ToolResult::Kind::timed_out, 0, {}, {}};
    return {ToolResult::Kind::exited, 0, fmt::format("{}\n", id), {}};
  }

  void accept(const ToolCall& call, int id, int first, int last) {
    const std::string script = call.folder + "/" + call.argv.back();
    std::string name;
    for (const std::string& line : split(read_file(script), '\n')) {
      if (line.starts_with("#SBATCH --job-name=")) name = line.substr(19);
    }
    const std::string token = name.substr(name.find('.') + 1);
    const std::vector<std::string> lines = split(read_file(call.folder + "/batches/" + token + "/attempts.txt"), '\n');
    const auto text = read_file_if_there(call.folder + "/batches/" + token + "/" + kBlocksFile);
    const std::vector<BlockLines> blocks = parse_blocks(text.value_or(""));
    for (int index = first; index <= last; ++index) {
      const auto element = static_cast<std::size_t>(index);
      const BlockLines block = text ? blocks.at(element) : BlockLines{element, 1};
      Job job{.array = id, .index = index, .name = name, .folder = call.folder + "/" + lines.at(block.first), .token = token};
      for (std::size_t i = 0; text && i < block.count; ++i)
        job.members.push_back(call.folder + "/" + lines.at(block.first + i));
      jobs.push_back(std::move(job));
    }
  }

  ToolResult squeue() const {
    std::string out = "7|RUNNING|None|n0|2026-11-21T00:00:00|somebody's other job\n";
    for (const Job& job : jobs) {
      if (!job.in_squeue) continue;
      out += fmt::format("{}|{}|{}|{}|N/A|{}\n", job.id(), job.state, job.reason, job.nodes, job.name);
    }
    return {ToolResult::Kind::exited, 0, out, {}};
  }

  ToolResult sacct() const {
    if (!accounting) return failure("Slurm accounting storage is disabled");
    if (sacct_down) return failure("sacct: error: Problem talking to the database: Connection refused");
    std::string out;
    for (const Job& job : jobs) {
      if (!job.in_sacct) continue;
      const std::string by = job.state == "CANCELLED" ? fmt::format(" by {}", canceller) : "";
      out += fmt::format("{}|{}{}|{}|Unknown|{}\n", job.id(), job.state, by, job.nodes.empty() ? "None assigned" : job.nodes,
                         job.name);
    }
    return {ToolResult::Kind::exited, 0, out, {}};
  }

  ToolResult scontrol(const ToolCall& call) const {
    if (scontrol_down) return failure("slurm_load_ctl_conf error: Unable to contact slurm controller");
    for (const Job& job : jobs) {
      if (job.id() == call.argv.back()) return {ToolResult::Kind::exited, 0, job.times, {}};
    }
    return {ToolResult::Kind::exited,
            0,
            fmt::format("BOOT_TIME               = {}\nMaxArraySize            = {}\n", controller_start, max_array_size),
            {}};
  }

  ToolResult scancel(const ToolCall& call) {
    if (call.argv.at(1) == "--batch") return {};  // a signal for a block's launcher: it ends no job
    const std::string option = "--name=";
    const bool named = call.argv.at(1).starts_with(option);
    for (std::size_t i = named ? 2 : 1; i < call.argv.size(); ++i) {
      const auto given = [&](const Job& job) {
        return job.id() == call.argv[i] && (!named || job.name == call.argv[1].substr(option.size()));
      };
      const auto asked = std::find_if(jobs.begin(), jobs.end(), given);
      if (asked == jobs.end()) continue;
      // As up to Slurm 23.11: with a name, one waiting element represents all waiting elements of its array.
      const bool whole = named && asked->state == "PENDING";
      const int array = asked->array;
      for (Job& job : jobs) {
        if (!(given(job) || (whole && job.array == array && job.state == "PENDING"))) continue;
        if (phase_of(job.state) == JobState::ended) continue;
        // A waiting element disappears; one that runs ends.
        if (job.state == "PENDING") forget(job);
        end(job, "CANCELLED", "None");
      }
    }
    return {};
  }
};

}  // namespace hpcbench
