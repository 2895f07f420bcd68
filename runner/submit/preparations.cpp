#include "submit/preparations.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>

#include "base/files.hpp"
#include "base/json_text.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "runfiles/cancel_request.hpp"
#include "runfiles/claim.hpp"
#include "runfiles/run_info.hpp"
#include "runfiles/settled.hpp"
#include "submit/judge.hpp"

namespace hpcbench {

namespace {

std::string how_it_ended(const Finished& finished) {
  if (finished.error) return *finished.error;
  if (finished.signal) return fmt::format("killed by signal {}", *finished.signal);
  return fmt::format("exit code {}", finished.exit_code.value_or(-1));
}

/// Not the command's doing: it is tried again.
bool is_of_machine(State outcome) {
  return outcome == State::lost || outcome == State::node_failure || outcome == State::preempted;
}

/// The state of one attempt: submitted, succeeded, failed, or how the machine ended it.
struct Stand {
  State state = State::submitted;
  bool is_void = false;
  std::string why = {};  // it did not succeed
};

Stand read_stand(const std::string& folder) {
  const bool by_command = is_cancel_requested(folder);
  if (const auto text = read_file_if_there(folder + "/finished.json")) {
    const Finished finished = parse_finished(*text);
    // Cancelled by a person who interrupted `run`, and may call it again; or by one who called `hpcbench cancel`.
    if (finished.cancelled) return {State::failed, !by_command, "cancelled"};
    if (!finished.error && !finished.signal && finished.exit_code == 0) return {State::succeeded};
    return {State::failed, false, how_it_ended(finished)};
  }
  const std::optional<Claim> claim = read_claim(folder);
  if (claim && claim->revoked) return {State::failed, claim->is_void(), claim->why};
  if (const auto settled = read_settled(folder)) {
    const bool is_cancelled = by_command && settled->outcome == State::cancelled;  // Slurm said so before the job could
    return {is_of_machine(settled->outcome) ? settled->outcome : State::failed, false,
            is_cancelled ? "cancelled" : settled->reason.value_or("lost")};
  }
  return {};
}

void read_makings(PreparationStatus& status) {
  const std::string text = read_file_if_there(status.folder + "/run.json").value_or("");
  JsonMembers members;
  JsonMembers file;
  if (!scan_object(text, members)) return;
  for (const std::string_view item : scan_array(find_member(members, "inputs")).value_or(std::vector<std::string_view>())) {
    if (!scan_object(item, file)) continue;
    status.inputs.push_back(
        {json_string(find_member(file, "path")).value_or(""), json_string(find_member(file, "sha256")).value_or("")});
  }
  for (const std::string_view item : scan_array(find_member(members, "needs")).value_or(std::vector<std::string_view>()))
    status.needs.push_back(json_string(item).value_or(""));
}

/// Whether an earlier version ran this `prepare: [command]` last, with success. It kept no attempt of it, but prepare.log, and
/// records in hpcbench.log.
bool ran_before(const std::string& results, const Preparation& definition) {
  if (!definition.for_all || ::access((results + "/prepare.log").c_str(), F_OK) != 0) return false;
  for (const char* const log : {"/hpcbench.log", "/hpcbench.log.1", "/hpcbench.log.2"}) {
    const std::string text = read_file_if_there(results + log).value_or("");
    const std::size_t begin = text.rfind(" info prepare begins: ");
    if (begin == std::string::npos) continue;
    const std::string_view record = std::string_view(text).substr(begin);
    const std::size_t end = record.find(" info prepare: ");
    return record.starts_with(escaped_for_log(" info prepare begins: " + join(definition.command, " ")) + "\n") &&
           end != std::string_view::npos && record.substr(end).starts_with(" info prepare: exit status 0");
  }
  return false;
}

}  // namespace

std::vector<AttemptState> preparation_attempts(const std::string& results, const PreparedInstance& instance) {
  const std::string below = "prepare/" + instance.folder();
  std::vector<AttemptState> attempts;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(results + "/" + below, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::optional<AttemptKey> key = parse_attempt_key(below + "/" + entry->path().filename().string());
    if (!key) continue;
    const Stand stand = read_stand(entry->path().string());
    attempts.push_back({.key = *key, .state = stand.state, .is_void = stand.is_void});
  }
  std::sort(attempts.begin(), attempts.end(),
            [](const AttemptState& a, const AttemptState& b) { return a.key.attempt < b.key.attempt; });
  return attempts;
}

PreparationStatus preparation_status(const Experiment& experiment, const std::string& results,
                                     const PreparedInstance& instance) {
  RunHistory history;
  for (const AttemptState& attempt : preparation_attempts(results, instance))
    history.add(attempt, is_of_machine(attempt.state));
  PreparationStatus status;
  if (history.highest() == 0 && ran_before(results, experiment.preparations[instance.definition])) {
    status.state = State::succeeded;
    status.folder = results;
  }
  if (history.last() == 0) return status;
  const bool is_lost = is_of_machine(history.last_state());
  if (is_lost && history.may_retry(experiment.retries)) return status;
  status.state = is_lost ? State::failed : history.last_state();
  status.folder = preparation_folder(results, instance, history.last());
  status.why = read_stand(status.folder).why;
  read_makings(status);
  return status;
}

State preparation_state(const std::string& folder) { return read_stand(folder).state; }

std::vector<std::string> changed_inputs(const std::vector<CodeFile>& then, const std::vector<CodeFile>& now) {
  std::map<std::string, std::pair<std::string, std::string>> hashes;
  for (const CodeFile& file : then) hashes[file.path].first = file.sha256;
  for (const CodeFile& file : now) hashes[file.path].second = file.sha256;
  std::vector<std::string> changed;
  for (const auto& [path, both] : hashes) {
    if (both.first != both.second) changed.push_back(path);
  }
  return changed;
}

}  // namespace hpcbench
