#include "executors/slurm/slurm_executor.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "executors/slurm/slurm_users.hpp"
#include "render/attempt.hpp"
#include "runfiles/block_claim.hpp"
#include "runfiles/cancel_request.hpp"
#include "runfiles/claim.hpp"
#include "runfiles/run_info.hpp"
#include "submit/cancel_notice.hpp"
#include "submit/judge.hpp"

namespace hpcbench {

namespace {

constexpr int kUsualArraySize = 1001;  // Slurm's default of MaxArraySize
constexpr int kMostElements = 1'000'000;

std::vector<std::string> read_cancel_notices(const SlurmSettings& settings) {
  std::vector<std::string> notices;
  for (const SlurmSettings::Study& study : settings.studies) notices.push_back(read_cancel_notice(study.results));
  return notices;
}

}  // namespace

SlurmExecutor::SlurmExecutor(SlurmSettings settings, ToolRunner& tools, Clock& clock,
                             std::function<void(const std::string&)> note)
    : settings_(std::move(settings)),
      tools_(tools),
      clock_(clock),
      note_(std::move(note)),
      earliest_unix_s_(clock.unix_s()),
      pace_(clock),
      chunk_limit_(kMostElements),
      largest_chunk_(kMostElements),
      cancel_notices_(read_cancel_notices(settings_)) {}

ToolResult SlurmExecutor::call_in(const std::string& folder, std::vector<std::string> argv) {
  return tools_.run({std::move(argv), folder, settings_.tool_timeout_s});
}

/// Whose attempt or preparation has this folder.
const SlurmSettings::Study& SlurmExecutor::study_of(const std::string& folder) const {
  const auto holds = [&](const SlurmSettings::Study& study) {
    return folder.size() > study.results.size() && folder[study.results.size()] == '/' && folder.starts_with(study.results);
  };
  const auto found = std::find_if(settings_.studies.begin(), settings_.studies.end(), holds);
  return found == settings_.studies.end() ? settings_.studies.front() : *found;
}

bool SlurmExecutor::is_ours(const std::string& job_name) const {
  return std::any_of(settings_.studies.begin(), settings_.studies.end(), [&](const SlurmSettings::Study& study) {
    return job_name.size() > study.experiment.size() && job_name[study.experiment.size()] == '.' &&
           job_name.starts_with(study.experiment);
  });
}

void SlurmExecutor::say_once(const std::string& kind, const std::string& text) {
  if (said_.insert(kind).second) note_(text);
}

// ---- Submission ----------------------------------------------------------------------------------------------------------

int SlurmExecutor::batch_limit() {
  if (!array_limit_) {
    const ToolResult config = call({"scontrol", "show", "config"});
    array_limit_ = config.succeeded() ? parse_max_array_size(config.output).value_or(kUsualArraySize) : kUsualArraySize;
    if (*array_limit_ < 1)
      throw UnavailableError("error: this Slurm allows no job arrays (MaxArraySize = 0); hpcbench needs them");
  }
  return *array_limit_;
}

int SlurmExecutor::free_slots() {
  if (!pace_.may_submit()) return 0;
  if (!settings_.max_queued) return chunk_limit_;
  return std::min(chunk_limit_, std::max(0, *settings_.max_queued - count_queued()));
}

Submission SlurmExecutor::submit(const AttemptSpan& attempts) {
  const int size = attempts.elements();
  std::string array = fmt::format("--array={}-{}", attempts.first, attempts.first + size - 1);
  const SlurmSettings::Study& study = study_of(attempts.folders.front());
  if (study.max_running) array += fmt::format("%{}", *study.max_running);
  const ToolCall call{.argv = {"sbatch", "--parsable", array, batch_script_path(attempts.batch)},
                      .folder = study.results,
                      .timeout_s = settings_.tool_timeout_s,
                      .waiting_word = kSbatchWaitsWord,
                      .waiting_s = kSbatchWaitsS};
  const SbatchAnswer answer = parse_sbatch(tools_.run(call));
  switch (answer.kind) {
    case SbatchAnswer::Kind::refused:
      return {Submission::Kind::refused, {}, answer.text};
    case SbatchAnswer::Kind::limited:
      chunk_limit_ = std::max(1, size / 2);
      if (size == 1) {
        pace_.pause();
        say_once("later", fmt::format("Slurm takes no more jobs of yours now ({}); the rest waits here", answer.text));
      }
      return {Submission::Kind::later, {}, answer.text};
    case SbatchAnswer::Kind::full:  // each try takes two minutes: what was too much once is not tried again
      chunk_limit_ = largest_chunk_ = std::max(1, size / 2);
      pace_.pause();
      say_once("later",
               fmt::format("Slurm's controller has no room for so many jobs now ({}); fewer at a time are tried", answer.text));
      return {Submission::Kind::later, {}, answer.text};
    case SbatchAnswer::Kind::busy:
      pace_.pause();
      say_once("later", fmt::format("Slurm's controller takes no jobs now ({}); waiting for it", answer.text));
      return {Submission::Kind::later, {}, answer.text};
    case SbatchAnswer::Kind::accepted:
      forget_lost(answer.job);
      note_new_id(answer.job);
      if (said_.erase("later") != 0) note_("Slurm takes jobs again");
      pace_.resume();
      chunk_limit_ = std::min(largest_chunk_, chunk_limit_ * 2);
      return {Submission::Kind::accepted, expect(attempts, answer.job), {}};
    case SbatchAnswer::Kind::doubtful:
      break;
  }
  expect(attempts, {});
  return {Submission::Kind::doubtful, {}, answer.text};
}

/// Looks for these attempts' jobs from now on, by name where the array's id is not known. Their ids.
std::vector<std::string> SlurmExecutor::expect(const AttemptSpan& attempts, const std::string& array) {
  std::vector<std::string> jobs;
  int index = attempts.first;
  std::size_t place = 0;  // in its block
  for (const std::string& folder : attempts.folders) {
    Entry& entry = entries_[folder];
    entry = Entry{};
    entry.folder = folder;
    entry.batch = attempts.batch;
    entry.user = ::getuid();
    entry.name = slurm_job_name(study_of(folder).experiment, attempts.batch);
    entry.index = index;
    entry.in_block = !attempts.blocks.empty();
    const std::size_t members = entry.in_block ? attempts.blocks[static_cast<std::size_t>(index - attempts.first)] : 1;
    if (++place == members) {
      place = 0;
      ++index;
    }
    if (!array.empty()) entry.job = fmt::format("{}_{}", array, entry.index);
    open_.push_back(folder);
    jobs.push_back(entry.job);
  }
  pace_.note_change();
  return jobs;
}

// ---- Which job an attempt is ---------------------------------------------------------------------------------------------

const SlurmExecutor::Places& SlurmExecutor::places_of(const Entry& entry) {
  const auto known = places_.find(entry.batch);
  if (known != places_.end()) return known->second;
  Places& places = places_[entry.batch];
  if (!is_plain_name(entry.batch)) return places;
  const std::string& results = study_of(entry.folder).results;
  const std::string folder = results + "/batches/" + entry.batch + "/";
  const std::optional<std::string> blocks = read_file_if_there(folder + kBlocksFile);
  const std::string attempts = read_file_if_there(folder + "attempts.txt").value_or("");
  const std::map<std::string, int> elements = elements_of(attempts, blocks);
  for (const std::string& line : split(attempts, '\n')) {
    const auto element = elements.find(line);
    if (element == elements.end()) continue;
    places.element.emplace(results + "/" + line, element->second);
    if (blocks) places.block[element->second].push_back(results + "/" + line);
  }
  return places;
}

void SlurmExecutor::identify(Entry& entry) {
  const RunInfo run = parse_run_json(read_file_if_there(entry.folder + "/run.json").value_or(""));
  if (run.intended_unix_s) earliest_unix_s_ = std::min(earliest_unix_s_, *run.intended_unix_s);
  entry.batch = run.batch.value_or("");
  entry.user = submitter_of(study_of(entry.folder).results, entry.batch);
  if (entry.user != ::getuid()) others_.insert(entry.user);
  const Places& places = places_of(entry);
  const auto place = places.element.find(entry.folder);
  if (place == places.element.end()) return;
  entry.index = place->second;
  entry.in_block = !places.block.empty();
  entry.name = slurm_job_name(study_of(entry.folder).experiment, entry.batch);
}

SlurmExecutor::Entry& SlurmExecutor::entry_of(const std::string& folder, const std::string& job) {
  const auto known = entries_.find(folder);
  if (known != entries_.end()) return known->second;
  Entry& entry = entries_[folder];
  entry.folder = folder;
  entry.job = job;
  identify(entry);
  open_.push_back(folder);
  if (const SlurmJob* row = find_row(queued_, entry)) see(entry, *row);
  return entry;
}

void SlurmExecutor::adopt(const std::string& folder, const std::string& job) {
  Entry& entry = entry_of(folder, job);
  if (!entry.dead) return;
  entry.dead = false;
  if (!std::exchange(entry.ended, false)) return;
  open_.push_back(folder);
  if (const SlurmJob* row = find_row(queued_, entry)) see(entry, *row);
}

JobStatus SlurmExecutor::status(const std::string& folder, const std::string& job) {
  Entry& entry = entry_of(folder, job);
  if (!pace_.has_polled()) poll();
  if (entry.ended) return entry.end;
  const bool waits = entry.state.empty() || phase_of(entry.state) == JobState::waiting;
  JobStatus status{waits ? JobState::waiting : JobState::running, entry.state.empty() ? "looked for" : entry.state};
  status.missing = entry.absent_s.has_value();
  return status;
}

std::string SlurmExecutor::waiting() {
  std::map<std::string, int> reasons;
  std::set<std::pair<std::string, int>> seen;  // jobs: a block has many attempts
  int count = 0;
  for (const std::string& folder : open_) {
    const Entry& entry = entries_.at(folder);
    if (entry.state.empty() || phase_of(entry.state) != JobState::waiting) continue;
    if (entry.in_block && !seen.insert({entry.name, entry.index}).second) continue;
    ++count;
    ++reasons[entry.reason.empty() ? "no reason yet" : entry.reason];
  }
  if (count == 0) return {};
  std::string text;
  for (const auto& [reason, number] : reasons) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", number, reason);
  return fmt::format("{} pending ({})", count, text);
}

// ---- Cancelling ----------------------------------------------------------------------------------------------------------

void SlurmExecutor::cancel(const std::string& folder, const std::string& job) {
  const bool known = entries_.count(folder) != 0;
  Entry& entry = entry_of(folder, job);
  if (!pace_.has_polled()) poll();
  if (!known && !entry.ended) conclude(entry, {JobState::ended, {}});  // nobody waits for it here
  entry.dead = true;
  const SlurmJob* row = find_row(queued_, entry);
  if (row != nullptr && phase_of(row->state) == JobState::ended) return;
  const std::string id = row != nullptr ? row->id : !entry.job.empty() ? entry.job : job;
  if (id.empty() && said_.count("squeue") != 0) ++unnamed_;
  if (entry.in_block) return cancel_in_block(entry, row, id);
  if (is_taken(folder) && !has_finished(folder)) request_end(folder);
  if (!entry.name.empty() && !id.empty()) to_cancel_[entry.name].push_back(id);
}

/// The job looks for it when it is asked to end. Where it cannot be written Slurm's word has to do.
void SlurmExecutor::request_end(const std::string& folder) {
  try {
    request_cancel(folder);
  } catch (const UnavailableError&) {
  }
}

/// Takes out of `ids` the elements that wait, where others of this name wait and are to stay: up to Slurm 23.11, `scancel
/// --name` takes each of them for all of its array that wait. Without a name it takes exactly what it is given.
std::vector<std::string> SlurmExecutor::take_waiting(const std::string& name, std::vector<std::string>& ids) const {
  const std::set<std::string> given(ids.begin(), ids.end());
  std::set<std::string> begun;
  bool others_wait = false;
  if (const auto rows = queued_.find(name); rows != queued_.end()) {
    for (const auto& [index, row] : rows->second) {
      if (phase_of(row.state) != JobState::waiting) {
        begun.insert(row.id);
      } else {
        others_wait = others_wait || given.count(row.id) == 0;
      }
    }
  }
  others_wait = others_wait || std::any_of(open_.begin(), open_.end(), [&](const std::string& folder) {  // not seen yet
                  const Entry& entry = entries_.at(folder);
                  return entry.name == name && given.count(entry.job) == 0 && begun.count(entry.job) == 0;
                });
  if (!others_wait) return {};
  const auto first = std::stable_partition(ids.begin(), ids.end(), [&](const std::string& id) { return begun.count(id) != 0; });
  std::vector<std::string> waiting(first, ids.end());
  ids.erase(first, ids.end());
  return waiting;
}

void SlurmExecutor::flush() {
  const auto scancel = [&](std::vector<std::string> argv, const auto& ids) {
    if (ids.empty()) return;
    argv.insert(argv.end(), ids.begin(), ids.end());
    const ToolResult result = call(std::move(argv));
    if (!result.succeeded()) say_once("scancel", fmt::format("scancel: {}{}", describe(result), whose_jobs(others_)));
  };
  if (unnamed_ > 0) {
    note_(fmt::format("without squeue's answer the jobs of {} cannot be named for scancel: each leaves as soon as it begins",
                      counted(std::exchange(unnamed_, 0), "revoked run", "revoked runs")));
  }
  for (auto& [name, ids] : to_cancel_) {
    scancel({"scancel"}, take_waiting(name, ids));
    scancel({"scancel", "--name=" + name}, ids);
  }
  to_cancel_.clear();
  for (const auto& [name, ids] : to_tell_) scancel({"scancel", "--batch", "--signal=USR2", "--name=" + name}, ids);
  to_tell_.clear();
}

void SlurmExecutor::wait(double seconds) {
  flush();
  const bool watches_jobs = !open_.empty();
  if (watches_jobs && notice_cancel()) conclude_revoked();
  if (pace_.wait(seconds, watches_jobs)) poll();
}

bool SlurmExecutor::notice_cancel() {
  std::vector<std::string> notices = read_cancel_notices(settings_);
  if (notices == cancel_notices_) return false;
  cancel_notices_ = std::move(notices);
  pace_.note_change();
  return true;
}

/// An attempt that somebody revoked will never run: that is its end, whatever Slurm still says of the job.
void SlurmExecutor::conclude_revoked() {
  for (const std::string& folder : std::vector<std::string>(open_)) {
    const std::optional<Claim> claim = read_claim(folder);
    if (!claim || !claim->revoked) continue;
    Entry& entry = entries_.at(folder);
    entry.dead = true;
    conclude(entry, {JobState::ended, {}, entry.job});
  }
}

}  // namespace hpcbench
