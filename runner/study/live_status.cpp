#include "study/live_status.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/executor_kind.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/text.hpp"
#include "executors/slurm/slurm_parse.hpp"
#include "executors/slurm/slurm_users.hpp"
#include "render/attempt.hpp"
#include "runfiles/block_claim.hpp"
#include "runfiles/claim.hpp"
#include "runfiles/life.hpp"
#include "submit/judge.hpp"

namespace hpcbench {

namespace {

/// The elements of a batch's array by attempt.
std::map<std::string, int> places_in_batch(const std::string& results, const std::string& batch) {
  const std::string folder = results + "/batches/" + batch + "/";
  return elements_of(read_file_if_there(folder + "attempts.txt").value_or(""), read_file_if_there(folder + kBlocksFile));
}

void add_job(RunStatus& run, const SlurmJob& job) {
  AttemptRecord& attempt = *run.attempt;
  attempt.job = job.id;
  run.job = phase_of(job.state);
  if (run.job == JobState::ended) {
    attempt.reason = job.state;
  } else if (run.job == JobState::running) {
    if (!job.nodes.empty() && !attempt.node) attempt.node = job.nodes;
  } else {
    const auto why = explain_reason(job.reason);
    if (!job.reason.empty()) attempt.reason = why ? fmt::format("{}: {}", job.reason, *why) : job.reason;
    if (!job.start.empty()) run.expected_start = job.start;
  }
}

bool is_open(const RunStatus& run) { return run.attempt && !is_outcome(run.state) && run.state != State::planned; }

bool is_in_queue(const RunStatus& run) { return executor_kind(run.attempt->executor).shows_queue; }

/// Jobs of a batch by attempt, once the executor has them all.
std::map<std::string, std::string> jobs_of_batch(const std::string& results, const std::string& batch) {
  std::map<std::string, std::string> jobs;
  const auto text = read_file_if_there(results + "/batches/" + batch + "/submitted.json");
  const auto json = nlohmann::json::parse(text.value_or(""), nullptr, false);
  if (!json.is_object() || !json.contains("jobs") || !json["jobs"].is_object()) return jobs;
  for (const auto& [attempt, job] : json["jobs"].items()) {
    if (job.is_string()) jobs.emplace(attempt, job.get<std::string>());
  }
  return jobs;
}

/// The run directories alone do not tell intended from submitted: their batches do.
void add_submissions(StatusView& view, const Study& study) {
  std::map<std::string, std::map<std::string, std::string>> jobs;
  for (RunStatus& run : view.runs) {
    if (run.state != State::intended || !run.attempt->batch) continue;
    const std::string& batch = *run.attempt->batch;
    if (jobs.count(batch) == 0) jobs[batch] = jobs_of_batch(study.results, batch);
    const auto job = jobs[batch].find(to_string(run.attempt->key));
    if (job == jobs[batch].end()) continue;
    if (!job->second.empty()) run.attempt->job = job->second;
    set_state(view, run, State::submitted);
  }
}

/// Empty, or why nothing is known.
std::string add_queue(StatusView& view, const Study& study, ToolRunner& tools) {
  const auto asked = [](const RunStatus& run) { return is_open(run) && is_in_queue(run) && run.attempt->batch; };
  if (std::none_of(view.runs.begin(), view.runs.end(), asked)) return {};
  std::map<std::string, unsigned int> users;  // who handed over each batch
  std::set<unsigned int> others;
  for (const RunStatus& run : view.runs) {
    if (!asked(run) || users.count(*run.attempt->batch) != 0) continue;
    const unsigned int user = users[*run.attempt->batch] = submitter_of(study.results, *run.attempt->batch);
    if (user != ::getuid()) others.insert(user);
  }
  const ToolResult answer = tools.run({squeue_arguments(others), {}, 60});
  if (!answer.succeeded()) return fmt::format("squeue does not answer ({}): what jobs wait for is not shown", describe(answer));
  std::map<std::pair<std::string, int>, SlurmJob> jobs;
  for (SlurmJob& job : parse_squeue(answer.output)) {
    SlurmJob& known = jobs[{job.name, job.index}];
    if (known.id.empty() || phase_of(known.state) == JobState::ended) known = std::move(job);
  }
  std::optional<bool> hides;
  const auto hides_others = [&] {
    if (!hides) hides = may_hide_jobs(tools.run({{"scontrol", "show", "config"}, {}, 60}));
    return *hides;
  };
  std::map<std::string, std::map<std::string, int>> places;
  for (RunStatus& run : view.runs) {
    // What has finished since the index was refreshed is for the next look.
    if (!asked(run) || has_finished(study.results + "/" + to_string(run.attempt->key))) continue;
    const std::string& batch = *run.attempt->batch;
    if (places.count(batch) == 0) places[batch] = places_in_batch(study.results, batch);
    const bool is_hidden = users.at(batch) != ::getuid() && hides_others();
    run.job = is_hidden ? JobState::unknown : JobState::ended;
    if (is_hidden) run.attempt->reason = fmt::format("Slurm does not show you the jobs of {}", user_name_of(users.at(batch)));
    const auto place = places[batch].find(to_string(run.attempt->key));
    if (place == places[batch].end()) continue;
    const auto job = jobs.find({slurm_job_name(study.experiment.name, batch), place->second});
    if (job == jobs.end()) continue;
    if (run.state == State::intended) set_state(view, run, State::submitted);
    add_job(run, job->second);
    const std::string results = study.results + "/";
    const bool waits = run.job == JobState::running && !is_taken(results + to_string(run.attempt->key));
    if (waits && ::access((results + "batches/" + batch + "/" + kBlocksFile).c_str(), F_OK) == 0)
      run.attempt->reason = "its block runs, and its turn has not come";
  }
  return {};
}

/// Of jobs that are processes of this host.
void add_processes(StatusView& view, const Study& study) {
  for (RunStatus& run : view.runs) {
    const std::string folder = run.attempt ? study.results + "/" + to_string(run.attempt->key) : "";
    if (!is_open(run) || is_in_queue(run) || has_finished(folder)) continue;
    const std::optional<Claim> claim = read_claim(folder);
    // Without a claim nothing runs yet; one of another host tells nothing here.
    std::optional<bool> alive = claim && claim->process ? is_alive(*claim->process) : std::optional(false);
    if (holds_life(folder).value_or(false)) alive = true;  // also in another PID namespace
    run.job = !alive ? JobState::unknown : *alive ? JobState::running : JobState::ended;
  }
}

}  // namespace

StatusView recorded_status(const Study& study, const Store& store) {
  StatusView view = make_status(study, store);
  add_submissions(view, study);
  return view;
}

StatusView live_status(const Study& study, const Store& store, ToolRunner& tools, std::optional<std::string> owner,
                       std::string& problem) {
  StatusView view = recorded_status(study, store);
  view.owner = std::move(owner);
  problem = add_queue(view, study, tools);
  add_processes(view, study);
  return view;
}

namespace {

/// What an `hpcbench run` would have to do for a run, now that none goes on.
enum class Awaits { nothing, begin, settle };

Awaits awaits(const RunStatus& run) {
  if (is_outcome(run.state)) return Awaits::nothing;
  if (run.state == State::planned) return run.held ? Awaits::nothing : Awaits::begin;
  // Handed over by a call that ended before its job began, or while it did.
  if (run.state == State::intended) return Awaits::begin;
  return run.job == JobState::ended ? Awaits::settle : Awaits::nothing;
}

}  // namespace

bool waits_for_owner(const StatusView& view) {
  return std::any_of(view.runs.begin(), view.runs.end(), [](const RunStatus& run) { return awaits(run) != Awaits::nothing; });
}

std::string owner_text(const StatusView& view) {
  if (view.owner) return fmt::format("`hpcbench run` goes on in {}", printable(*view.owner));
  const auto count = [&](Awaits what) {
    return std::count_if(view.runs.begin(), view.runs.end(), [&](const RunStatus& run) { return awaits(run) == what; });
  };
  std::vector<std::string> parts;
  if (const long long begin = count(Awaits::begin); begin > 0) {
    parts.push_back(
        fmt::format("begin the {} that {}", counted(begin, "run", "runs"), begin == 1 ? "waits for it" : "wait for it"));
  }
  if (const long long settle = count(Awaits::settle); settle > 0)
    parts.push_back(fmt::format("settle the {} whose {} ended", settle, settle == 1 ? "job has" : "jobs have"));
  const std::string what =
      parts.empty() ? "" : fmt::format(": `hpcbench run {}` would {}", printable(view.named), join(parts, " and "));
  return "no `hpcbench run` goes on" + what;
}

}  // namespace hpcbench
