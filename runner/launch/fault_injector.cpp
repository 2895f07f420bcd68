#include "launch/fault_injector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <fstream>
#include <limits>
#include <set>
#include <string_view>

#include "base/host.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "launch/descendants.hpp"
#include "runfiles/injected.hpp"
#include "runfiles/job_files.hpp"

namespace hpcbench {

namespace {

constexpr double kNeverS = std::numeric_limits<double>::infinity();
constexpr double kLookS = 0.1;        // between two looks at the events
constexpr double kSlowPeriodS = 0.1;  // of stopping and going on
constexpr double kFindAgainS = 1.0;   // what the slow ranks have started since
constexpr std::streamsize kMostAtOnce = 1 << 20;

bool has_variable(const std::vector<std::string>& environment, std::string_view name, int value) {
  return std::find(environment.begin(), environment.end(), fmt::format("{}={}", name, value)) != environment.end();
}

/// Of the ranks that a program's own launcher has started here, that one. `any`: there are some.
std::optional<pid_t> launched_rank(const std::vector<RankProcess>& launchers, const KillRank& kill, bool& any) {
  for (const RankProcess& launcher : launchers) {
    for (const Descendant& process : find_descendants(launcher.pid)) {
      const std::vector<std::string> environment = split(process_text(process.pid, "environ"), '\0');
      if (!has_variable(environment, "WORLD_SIZE", kill.launched)) continue;
      any = true;
      if (has_variable(environment, "RANK", *kill.rank)) return process.pid;
    }
  }
  return std::nullopt;
}

/// The process that is to be hit, if it runs here. Where a launcher has started no ranks the node's own process is one.
std::optional<pid_t> victim(const std::vector<RankProcess>& running, const KillRank& kill) {
  bool any = false;
  if (kill.launched > 0) {
    const std::optional<pid_t> found = launched_rank(running, kill, any);
    if (found || any) return found;
  }
  for (const RankProcess& process : running) {
    if (process.rank == kill.rank) return process.pid;
  }
  return std::nullopt;
}

/// A process and all that it started, each after the one that started it.
std::vector<FoundProcess> with_descendants(pid_t pid) {
  std::vector<FoundProcess> found;
  const auto add = [&](pid_t each) {
    if (const auto process = identify_process(each)) found.push_back({each, process->start_ticks});
  };
  add(pid);
  for (const Descendant& process : find_descendants(pid)) add(process.pid);
  return found;
}

void signal_all(const std::vector<FoundProcess>& processes, int signal) {
  for (const FoundProcess& each : processes) {
    const auto process = identify_process(each.pid);
    if (process && process->start_ticks == each.start_ticks) ::kill(each.pid, signal);
  }
}

}  // namespace

StepWatch::StepWatch(std::vector<std::string> files, long long step) : step_(step) {
  for (std::string& file : files) tails_.push_back({std::move(file), 0});
}

bool StepWatch::reached() {
  return std::any_of(tails_.begin(), tails_.end(), [this](Tail& tail) { return read_more(tail); });
}

/// A line that is not whole yet is read again.
bool StepWatch::read_more(Tail& tail) const {
  std::ifstream file(tail.path, std::ios::binary);
  file.seekg(tail.offset);
  std::string text(static_cast<std::size_t>(kMostAtOnce), '\0');
  file.read(text.data(), kMostAtOnce);
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  JsonMembers members;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    const bool is_event = scan_object(std::string_view(text).substr(begin, end - begin), members);
    begin = end + 1;
    if (is_event && json_integer(find_member(members, "step")).value_or(0) >= step_) return true;
  }
  tail.offset += static_cast<long long>(begin);
  return false;
}

FaultInjector::FaultInjector(Faults faults, std::string folder, std::string run_dir, std::function<int(int)> node_of)
    : faults_(std::move(faults)), folder_(std::move(folder)), run_dir_(std::move(run_dir)), node_of_(std::move(node_of)) {}

void FaultInjector::begin(const std::vector<RankProcess>& ranks) {
  begin_s_ = monotonic_s();
  if (ranks.empty()) faults_ = {};
  const auto here = [&](auto is) { return std::any_of(ranks.begin(), ranks.end(), is); };
  if (!ranks.empty()) writer_ = ranks.front().rank;
  std::optional<KillRank>& kill = faults_.kill_rank;
  if (kill && kill->launched == 0 && !here([&](const RankProcess& each) { return each.rank == kill->rank; })) kill.reset();
  std::optional<SlowNode>& slow = faults_.slow_node;
  if (slow && !here([&](const RankProcess& each) { return node_of_(each.rank) == slow->node; })) slow.reset();
  if (kill && kill->step) {
    std::vector<std::string> files;
    for (const std::string& folder : std::set{run_dir_, folder_}) {
      for (const int rank : std::set{0, *kill->rank}) files.push_back(folder + "/" + rank_file("events", rank, ".jsonl"));
    }
    steps_.emplace(std::move(files), *kill->step);
  }
  next_kill_s_ = *begin_s_ + (kill ? kill->at_s.value_or(kLookS) : 0);
  next_slow_s_ = *begin_s_ + (slow ? slow->from_s : 0);
}

double FaultInjector::next_s() const {
  if (!begin_s_) return kNeverS;
  return std::min(faults_.kill_rank ? next_kill_s_ : kNeverS, faults_.slow_node ? next_slow_s_ : kNeverS);
}

void FaultInjector::act(const std::vector<RankProcess>& running) {
  const double now_s = monotonic_s();
  if (!begin_s_) return;
  if (faults_.kill_rank && now_s >= next_kill_s_) act_on_rank(running, now_s);
  if (faults_.slow_node && now_s >= next_slow_s_) act_on_node(running, now_s);
}

void FaultInjector::act_on_rank(const std::vector<RankProcess>& running, double now_s) {
  if (steps_ && !steps_->reached()) {
    next_kill_s_ = now_s + kLookS;
    return;
  }
  const KillRank kill = *faults_.kill_rank;
  faults_.kill_rank.reset();
  const std::optional<pid_t> pid = victim(running, kill);
  if (!pid) return;
  release();  // what is stopped would hear only of SIGKILL
  const std::vector<FoundProcess> hit = with_descendants(*pid);
  signal_all(hit, SIGSTOP);  // while it is noted: no step of theirs comes after the time that the note tells
  const std::string when = kill.step ? fmt::format("at step {}, ", *kill.step) : "";
  note("kill_rank", *kill.rank,
       fmt::format("rank {} got SIG{} {}after {:.1f} s", *kill.rank, kill.signal, when, now_s - *begin_s_));
  signal_all(hit, *signal_number(kill.signal));
  signal_all(hit, SIGCONT);
}

/// By the clock that all processes of a node share: ranks that different ones of ours started are stopped at the same moments.
void FaultInjector::act_on_node(const std::vector<RankProcess>& running, double now_s) {
  const SlowNode& slow = *faults_.slow_node;
  const double end_s = slow.for_s ? *begin_s_ + slow.from_s + *slow.for_s : kNeverS;
  if (now_s >= end_s) {
    release();
    faults_.slow_node.reset();
    return;
  }
  if (!slowing_) {
    slowing_ = true;
    const auto here =
        std::find_if(running.begin(), running.end(), [&](const RankProcess& each) { return node_of_(each.rank) == slow.node; });
    const int rank = here == running.end() ? writer_ : here->rank;
    note("slow_node", rank, fmt::format("node {} slowed by {} after {:.1f} s", *slow.node, slow.by, now_s - *begin_s_));
  }
  const double phase_s = std::fmod(now_s, kSlowPeriodS);
  const double runs_s = kSlowPeriodS / slow.by;
  if (phase_s < runs_s) {
    release();
  } else if (!stopped_) {
    find_slowed(running, now_s);
    signal_all(slowed_, SIGSTOP);
    stopped_ = true;
  }
  next_slow_s_ = std::min(end_s, now_s - phase_s + (stopped_ ? kSlowPeriodS : runs_s));
}

void FaultInjector::find_slowed(const std::vector<RankProcess>& running, double now_s) {
  if (!slowed_.empty() && now_s < slowed_found_s_ + kFindAgainS) return;
  slowed_found_s_ = now_s;
  slowed_.clear();
  for (const RankProcess& process : running) {
    if (node_of_(process.rank) != faults_.slow_node->node) continue;
    const std::vector<FoundProcess> found = with_descendants(process.pid);
    slowed_.insert(slowed_.end(), found.begin(), found.end());
  }
}

void FaultInjector::release() {
  if (!stopped_) return;
  stopped_ = false;
  signal_all(slowed_, SIGCONT);
}

void FaultInjector::note(const std::string& kind, int rank, const std::string& text) const {
  note_injected(folder_, writer_, {kind, unix_time_s(), rank, text});
}

}  // namespace hpcbench
