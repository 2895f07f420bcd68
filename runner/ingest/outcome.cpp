#include "ingest/outcome.hpp"

#include <fmt/format.h>

#include <csignal>

#include "base/text.hpp"
#include "ingest/line_reader.hpp"

namespace hpcbench {

namespace {

constexpr int kSignalKill = 9;
constexpr int kShellSignalBase = 128;  // a shell reports a death by signal N as exit code 128 + N
constexpr std::size_t kLongestReason = 500;
constexpr double kEarlierEndS = 30;  // a run ends a little before its job's limit; longer before it, somebody has moved that

/// Cut at a character of UTF-8.
std::string shortened(std::string text) {
  if (text.size() <= kLongestReason) return text;
  std::size_t end = kLongestReason;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "...";
}

bool killed(const Finished& finished) {
  return finished.signal == kSignalKill || finished.exit_code == kShellSignalBase + kSignalKill;
}

/// `cannot allocate 2 GiB (step 12, backward; cause: ...)`.
std::string describe_error(const ErrorEvent& error) {
  std::string text = error.text.empty() ? (error.code.empty() ? "error" : error.code) : error.text;
  std::string details;
  const auto add = [&](const std::string& detail) { details += (details.empty() ? "" : ", ") + detail; };
  const std::string step = error.step ? fmt::format("step {}", *error.step) : "";
  if (!step.empty() && text.find(step) == std::string::npos) add(step);
  if (!error.operation.empty() && text.find(error.operation) == std::string::npos) add(error.operation);
  if (!error.cause.empty() && text.find(error.cause) == std::string::npos) add("cause: " + error.cause);
  return details.empty() ? text : fmt::format("{} ({})", text, details);
}

std::string how_it_ended(const Finished& finished) {
  const std::string who = finished.first_failed_rank ? fmt::format("rank {} ", *finished.first_failed_rank) : "";
  if (finished.signal) return fmt::format("{}failed (signal {})", who, *finished.signal);
  if (finished.exit_code) return fmt::format("{}failed with exit code {}", who, *finished.exit_code);
  return who + "failed: finished.json holds no exit code";
}

/// With the root cause that the program named, else the last line that it wrote. A loss that is not a number is a reason of its
/// own, whatever the exit code; `cause` is the text of the rank that saw it first.
std::string failure_reason(const Finished& finished, const FailureEvidence& evidence) {
  if (evidence.diverged)
    return "diverged: " + (evidence.diverged->cause.empty() ? describe_error(*evidence.diverged) : evidence.diverged->cause);
  const std::string why = evidence.error ? describe_error(*evidence.error) : printable(last_line(finished.tail));
  return why.empty() ? how_it_ended(finished) : fmt::format("{}: {}", how_it_ended(finished), why);
}

Outcome ended_as(State state, std::string reason) { return {state, shortened(std::move(reason))}; }

/// A run that may be continued, whose program saved its state and said so, or did not outlive the warning of its time limit.
bool stopped_to_go_on(const Finished& finished, const RunInfo& info) {
  if (!info.segment || finished.exit_code == info.success_exit_code) return false;
  if (finished.exit_code == kExitSaved) return true;
  const auto ended_by = [&](int signal) {
    return finished.signal == signal || finished.exit_code == kShellSignalBase + signal;
  };
  return finished.warned && (ended_by(SIGUSR1) || ended_by(SIGTERM));
}

std::string how_it_stopped(const Finished& finished) {
  const std::string how = finished.signal ? fmt::format("signal {}", *finished.signal)
                                          : fmt::format("exit code {}", finished.exit_code.value_or(0));
  return finished.warned ? fmt::format("ended when it was warned of its time limit ({})", how)
                         : fmt::format("saved its state and ended ({})", how);
}

}  // namespace

Outcome decide_outcome(const Finished& finished, const RunInfo& info, const FailureEvidence& evidence,
                       std::optional<bool> pattern_found) {
  if (finished.cancelled) return ended_as(State::cancelled, "cancelled while it ran");
  if (finished.timed_out) {
    const std::optional<double> limit_s = finished.time_limit_s ? finished.time_limit_s : info.time_limit_s;
    if (!limit_s) return ended_as(State::timeout, "time limit reached");
    std::string reason = fmt::format("time limit of {} reached", human_duration(*limit_s));
    const bool early = finished.wall_s && *finished.wall_s + kEarlierEndS < *limit_s;
    if (early) {
      reason = fmt::format("its job's time limit was reached after {}, before its own of {}", human_duration(*finished.wall_s),
                           human_duration(*limit_s));
    }
    return ended_as(State::timeout, finished.error ? reason + ": " + *finished.error : reason);
  }
  if (evidence.out_of_memory) return ended_as(State::out_of_memory, describe_error(*evidence.out_of_memory));
  if (finished.oom_kill && killed(finished)) {
    return ended_as(State::out_of_memory, how_it_ended(finished) + ": killed for memory (the cgroup's oom_kill count grew)");
  }
  if (finished.never_began)
    return ended_as(State::node_failure, "no rank could be started: " + printable(last_line(finished.tail)));
  if (finished.error) return ended_as(State::failed, *finished.error);
  if (stopped_to_go_on(finished, info)) return ended_as(State::timeout, how_it_stopped(finished));
  if (finished.signal || finished.exit_code != info.success_exit_code) {
    return ended_as(State::failed, failure_reason(finished, evidence));
  }
  if (!pattern_found.value_or(true)) {
    return ended_as(State::failed, fmt::format("success pattern {} not found in stdout.log", printable(*info.success_pattern)));
  }
  return {State::succeeded, std::nullopt};
}

std::optional<std::string> explain_settled(const Settled& settled) {
  const bool may_say = settled.outcome == State::failed || settled.outcome == State::lost ||
                       settled.outcome == State::out_of_memory || settled.outcome == State::node_failure;
  const std::string words = may_say ? printable(last_line(settled.tail.value_or(""))) : "";
  if (words.empty()) return settled.reason;
  return shortened(fmt::format("{}; its last line: {}", settled.reason.value_or("ended without a result"), words));
}

}  // namespace hpcbench
