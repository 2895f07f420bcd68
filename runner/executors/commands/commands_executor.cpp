#include "executors/commands/commands_executor.hpp"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "render/attempt.hpp"
#include "render/batch_system_script.hpp"
#include "runfiles/block_claim.hpp"
#include "runfiles/cancel_request.hpp"
#include "runfiles/claim.hpp"
#include "runfiles/run_info.hpp"
#include "submit/judge.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kMostIdsOfCancel = 100;  // of one call
constexpr double kOwnEnd = 10;                 // seconds that a launcher gets to end its processes before its job is killed

std::string own_user_name() {
  const passwd* const user = ::getpwuid(::getuid());
  return user == nullptr ? std::to_string(::getuid()) : user->pw_name;
}

}  // namespace

CommandsExecutor::CommandsExecutor(CommandsSettings settings, ToolRunner& tools, Clock& clock,
                                   std::function<void(const std::string&)> note)
    : settings_(std::move(settings)),
      tools_(tools),
      clock_(clock),
      note_(std::move(note)),
      patterns_(settings_.system),
      pace_(clock) {}

ToolResult CommandsExecutor::call(const std::vector<std::string>& command,
                                  const std::map<std::string, std::vector<std::string>>& values) {
  return tools_.run({.argv = fill_command(command, values),
                     .folder = settings_.studies.front().results,
                     .timeout_s = settings_.tool_timeout_s});
}

const CommandsSettings::Study& CommandsExecutor::study_of(const std::string& folder) const {
  const auto found =
      std::find_if(settings_.studies.begin(), settings_.studies.end(),
                   [&](const CommandsSettings::Study& study) { return folder.starts_with(study.results + "/"); });
  return found == settings_.studies.end() ? settings_.studies.front() : *found;
}

std::string CommandsExecutor::batch_folder(const Entry& entry) const {
  return study_of(entry.folder).results + "/batches/" + entry.batch;
}

void CommandsExecutor::say_once(const std::string& kind, const std::string& text) {
  if (said_.insert(kind).second) note_(text);
}

// ---- Submission ----------------------------------------------------------------------------------------------------------

int CommandsExecutor::free_slots() {
  if (!pace_.may_submit()) return 0;
  return static_cast<int>(open_.size()) < settings_.max_queued ? 1 : 0;
}

/// The script of one job: the batch's, with what differs from job to job.
void CommandsExecutor::write_script(const AttemptSpan& attempts, std::size_t i, const Entry& entry) {
  const std::string& results = study_of(entry.folder).results;
  const std::string text = read_file(results + "/" + batch_script_path(attempts.batch));
  const std::string base = batch_folder(entry) + "/" + std::to_string(entry.index);
  write_file(base + ".sh",
             fill_script(text, {{"name", entry.name},
                                {"log", base + ".out"},
                                {"token", attempts.batch},
                                {"hash", i < attempts.hashes.size() ? attempts.hashes[i] : ""},
                                {"folder", shell_quote(entry.folder)}}),
             Durability::none);
}

std::optional<std::string> CommandsExecutor::submit_one(const Entry& entry, Submission& rest) {
  const std::string base = batch_folder(entry) + "/" + std::to_string(entry.index);
  const ToolResult result =
      call(settings_.system.submit, {{"script", {base + ".sh"}}, {"name", {entry.name}}, {"log", {base + ".out"}}});
  if (std::optional<std::string> id = patterns_.id_in(result)) return id;
  const std::string said = describe(result);
  if (patterns_.says_later(result)) {
    pace_.pause();
    say_once("later", fmt::format("{} takes no more jobs for now ({}); the others wait here", settings_.system.name, said));
    rest = {Submission::Kind::later, {}, said};
    return std::nullopt;
  }
  if (result.kind == ToolResult::Kind::not_started) {  // then no job was submitted either
    rest = {Submission::Kind::refused, {}, said};
    return std::nullopt;
  }
  if (!ask_list()) {
    rest = {Submission::Kind::doubtful, {}, said};
    return std::nullopt;
  }
  if (const BatchJob* const row = find_row(entry)) return row->id;
  const bool is_sure = result.kind == ToolResult::Kind::exited && result.status != 0;
  rest = {is_sure ? Submission::Kind::refused : Submission::Kind::doubtful, {}, said};
  if (result.succeeded()) rest.text = fmt::format("`commands.id` matches nothing in {}", json_quote(result.output));
  return std::nullopt;
}

Submission CommandsExecutor::submit(const AttemptSpan& attempts) {
  if (!attempts.blocks.empty()) throw std::logic_error("the executor commands has no blocks");
  Submission submission{Submission::Kind::accepted, {}, {}};
  for (std::size_t i = 0; i < attempts.folders.size(); ++i) {
    Entry& entry = expect(attempts.folders[i], attempts.batch, attempts.first + static_cast<int>(i));
    write_script(attempts, i, entry);
    Submission rest;
    const std::optional<std::string> id = submit_one(entry, rest);
    if (!id) {
      const bool is_watched = rest.kind == Submission::Kind::doubtful;
      if (!is_watched) {
        std::erase(open_, entry.folder);
        entries_.erase(attempts.folders[i]);
      }
      submission.kind = rest.kind;
      submission.text = rest.text;
      return submission;
    }
    entry.job = *id;
    entry.accepted = true;
    submission.jobs.push_back(*id);
    pace_.resume();
    if (said_.erase("later") != 0) note_(fmt::format("{} takes jobs again", settings_.system.name));
  }
  return submission;
}

// ---- Which job an attempt is ---------------------------------------------------------------------------------------------

CommandsExecutor::Entry& CommandsExecutor::expect(const std::string& folder, const std::string& batch, int index) {
  Entry& entry = entries_[folder];
  if (!entry.folder.empty()) std::erase(open_, folder);
  entry = Entry{};
  entry.folder = folder;
  entry.batch = batch;
  entry.index = index;
  entry.name = batch_job_name(study_of(folder).experiment, batch, index);
  open_.push_back(folder);
  pace_.note_change();
  return entry;
}

const std::map<std::string, int>& CommandsExecutor::places_of(const std::string& results, const std::string& batch) {
  const std::string folder = results + "/batches/" + batch;
  const auto [place, is_new] = places_.try_emplace(folder);
  if (is_new && is_plain_name(batch))
    place->second = elements_of(read_file_if_there(folder + "/attempts.txt").value_or(""), std::nullopt);
  return place->second;
}

/// By its files: run.json names the batch, whose list has the index.
void CommandsExecutor::identify(Entry& entry) {
  const CommandsSettings::Study& study = study_of(entry.folder);
  entry.batch = parse_run_json(read_file_if_there(entry.folder + "/run.json").value_or("")).batch.value_or("");
  if (entry.folder.size() <= study.results.size()) return;
  const std::map<std::string, int>& places = places_of(study.results, entry.batch);
  const auto place = places.find(entry.folder.substr(study.results.size() + 1));
  if (place == places.end()) return;
  entry.index = place->second;
  entry.name = batch_job_name(study.experiment, entry.batch, entry.index);
}

CommandsExecutor::Entry& CommandsExecutor::entry_of(const std::string& folder) {
  const auto known = entries_.find(folder);
  if (known != entries_.end()) return known->second;
  Entry& entry = entries_[folder];
  entry.folder = folder;
  identify(entry);
  open_.push_back(folder);
  if (const BatchJob* row = find_row(entry)) see(entry, *row);
  return entry;
}

void CommandsExecutor::adopt(const std::string& folder, const std::string& /*job*/) {
  Entry& entry = entry_of(folder);
  entry.dead = false;
}

JobStatus CommandsExecutor::status(const std::string& folder, const std::string& /*job*/) {
  Entry& entry = entry_of(folder);
  if (!pace_.has_polled()) poll();
  if (entry.ended) return entry.end;
  JobStatus status{JobState::running, entry.state.empty() ? "looked for" : entry.state};
  status.missing = entry.absent_s.has_value();
  return status;
}

std::string CommandsExecutor::waiting() {
  std::map<std::string, int> states;
  int count = 0;
  for (const std::string& folder : open_) {
    const Entry& entry = entries_.at(folder);
    if (entry.phase != JobState::waiting && entry.phase != JobState::stuck) continue;
    ++states[entry.state];
    ++count;
  }
  if (count == 0) return {};
  std::vector<std::string> parts;
  for (const auto& [state, number] : states) parts.push_back(fmt::format("{} {}", number, state));
  return fmt::format("{} pending ({})", count, join(parts, ", "));
}

// ---- Cancelling ----------------------------------------------------------------------------------------------------------

void CommandsExecutor::cancel(const std::string& folder, const std::string& /*job*/) {
  Entry& entry = entry_of(folder);
  if (!pace_.has_polled()) poll();
  entry.dead = true;
  const BatchJob* const row = find_row(entry);
  if (row != nullptr && row->phase == JobState::ended) return;
  const std::string& id = row != nullptr ? row->id : entry.job;
  const std::optional<Claim> claim = read_claim(folder);
  const bool has_begun = claim && !claim->revoked && !has_finished(folder);
  if (has_begun) {
    try {
      request_cancel(folder);
    } catch (const UnavailableError&) {  // its end then counts as lost
    }
  }
  if (!id.empty() && !(entry.ended && row == nullptr)) to_cancel_.emplace(id, clock_.monotonic_s() + (has_begun ? kOwnEnd : 0));
}

void CommandsExecutor::flush() {
  std::vector<std::string> ids;
  for (const auto& [id, when_s] : to_cancel_) {
    if (when_s <= clock_.monotonic_s()) ids.push_back(id);
  }
  for (const std::string& id : ids) to_cancel_.erase(id);
  for (std::size_t at = 0; at < ids.size(); at += kMostIdsOfCancel) {
    const std::size_t end = std::min(ids.size(), at + kMostIdsOfCancel);
    const std::vector<std::string> part(ids.begin() + static_cast<std::ptrdiff_t>(at),
                                        ids.begin() + static_cast<std::ptrdiff_t>(end));
    const ToolResult result = call(settings_.system.cancel, {{"ids", part}});
    // It also fails for jobs that have ended meanwhile.
    if (!result.succeeded()) log_info(fmt::format("{}: {}", settings_.system.cancel.front(), describe(result)));
  }
  if (!ids.empty()) pace_.note_change();
}

void CommandsExecutor::wait(double seconds) {
  flush();
  if (pace_.wait(seconds, !open_.empty())) poll();
}

// ---- Polling -------------------------------------------------------------------------------------------------------------

bool CommandsExecutor::ask_list() {
  const ToolResult answer = call(settings_.system.list, {{"user", {own_user_name()}}});
  const std::optional<std::vector<BatchJob>> jobs = patterns_.jobs_in(answer);
  if (!jobs) {
    say_once("list", fmt::format("{} does not list jobs ({}); hpcbench waits and concludes nothing from that",
                                 settings_.system.name, describe(answer)));
    return false;
  }
  if (said_.erase("list") != 0) note_(fmt::format("{} lists jobs again", settings_.system.name));
  listed_.clear();
  for (const BatchJob& job : *jobs) {
    // A job that has not ended comes before one of the same name that has: it may have been started again.
    const auto [place, is_new] = listed_.try_emplace(job.name, job);
    if (!is_new && place->second.phase == JobState::ended) place->second = job;
  }
  return true;
}

const BatchJob* CommandsExecutor::find_row(const Entry& entry) const {
  const auto named = entry.name.empty() ? listed_.end() : listed_.find(entry.name);
  return named == listed_.end() ? nullptr : &named->second;
}

void CommandsExecutor::poll() {
  pace_.note_poll();
  const bool complete = ask_list();
  for (const std::string& folder : std::vector<std::string>(open_)) {
    Entry& entry = entries_.at(folder);
    const BatchJob* const row = complete ? find_row(entry) : nullptr;
    if (row != nullptr) {
      see(entry, *row);
    } else if (has_finished(folder)) {
      conclude(entry, end_of(entry));
    } else if (complete) {
      see_gone(entry);
    }
  }
  // A job that appears after its attempt was revoked would end at once; it need not wait in the queue for that.
  for (const auto& [folder, entry] : entries_) {
    const BatchJob* const row = entry.dead ? find_row(entry) : nullptr;
    if (row != nullptr && row->phase == JobState::waiting) to_cancel_.emplace(row->id, clock_.monotonic_s());
  }
}

void CommandsExecutor::see(Entry& entry, const BatchJob& row) {
  entry.job = row.id;
  entry.accepted = true;
  if (entry.state != row.state) {
    log_info(fmt::format("job {} of {} is {}", row.id, settings_.system.name, row.state));
    pace_.note_change();
  }
  entry.state = row.state;
  entry.phase = row.phase;
  if (row.phase == JobState::ended) return see_gone(entry);
  entry.absent_s.reset();
  if (has_finished(entry.folder)) return conclude(entry, end_of(entry));
  if (row.phase == JobState::stuck) {
    say_once("stuck " + row.id, fmt::format("job {} is in state {} and will not begin by itself: see why with the tools of {}; "
                                            "`hpcbench cancel` removes it",
                                            row.id, row.state, settings_.system.name));
  } else if (row.phase == JobState::unknown) {
    say_once("state " + row.state,
             fmt::format("job {} is in state {}, which the site's `commands` lists nowhere: hpcbench waits "
                         "for its end",
                         row.id, row.state));
  }
}

/// The list lacks the job, or has it as ended.
void CommandsExecutor::see_gone(Entry& entry) {
  if (has_finished(entry.folder)) return conclude(entry, end_of(entry));
  const std::optional<Claim> claim = read_claim(entry.folder);
  if (claim && claim->revoked) {  // it will never run
    entry.dead = true;
    return conclude(entry, end_of(entry));
  }
  if (!entry.absent_s) entry.absent_s = clock_.monotonic_s();
  const double absent_s = clock_.monotonic_s() - *entry.absent_s;
  const bool asked = is_cancel_requested(entry.folder);
  const double patience_s = claim && !asked ? settings_.finished_delay_s : settings_.gone_after_s;
  if (absent_s < (asked ? 0 : patience_s)) return;
  JobStatus end = end_of(entry);
  const std::string job = entry.job.empty() ? "the job" : "job " + entry.job;
  const bool began = ::access((batch_folder(entry) + "/" + end.log).c_str(), F_OK) == 0;
  if (claim) {
    end.job = claim->job;
    if (asked) end.outcome = State::cancelled;
    end.text = asked ? fmt::format("{} of {} was cancelled", job, settings_.system.name)
                     : fmt::format(
                           "{0} no longer lists {1}, which left no finished.json: {0} ended it (a limit, another user), "
                           "or its node failed",
                           settings_.system.name, job);
  } else if (began) {
    end.unclaimed = State::failed;
    end.text = fmt::format("{} of {} ended before hpcbench began", job, settings_.system.name);
  } else if (entry.accepted) {
    end.unclaimed = State::cancelled;
    end.text = fmt::format("{} left the queue of {} before it began", job, settings_.system.name);
  } else {
    end.voids = true;
    end.text = fmt::format("{} does not know the job", settings_.system.name);
  }
  entry.dead = true;
  conclude(entry, end);
}

JobStatus CommandsExecutor::end_of(const Entry& entry) const {
  JobStatus end{JobState::ended, {}, entry.job};
  end.log = std::to_string(entry.index) + ".out";
  return end;
}

void CommandsExecutor::conclude(Entry& entry, JobStatus end) {
  entry.ended = true;
  entry.end = std::move(end);
  to_cancel_.erase(entry.job);
  std::erase(open_, entry.folder);
  pace_.note_change();
}

}  // namespace hpcbench
