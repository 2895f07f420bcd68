#include "cli/queue_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/files.hpp"
#include "base/text.hpp"
#include "cli/terminal.hpp"
#include "render/attempt.hpp"
#include "submit/slurm_parse.hpp"

namespace hpcbench {

namespace {

/// The attempts of a batch by their index.
std::map<std::string, int> places_in_batch(const std::string& results, const std::string& batch) {
  std::map<std::string, int> places;
  const auto text = read_file_if_there(results + "/batches/" + batch + "/attempts.txt");
  int index = 0;
  for (const std::string& line : split(text.value_or(""), '\n')) places.emplace(line, index++);
  return places;
}

void add_job(RunStatus& run, const SlurmJob& job) {
  AttemptRecord& attempt = *run.attempt;
  attempt.job = job.id;
  switch (phase_of(job.state)) {
    case SlurmPhase::waiting: {
      const auto advice = explain_reason(job.reason);
      if (!job.reason.empty()) attempt.reason = advice ? fmt::format("{}: {}", job.reason, *advice) : job.reason;
      if (!job.start.empty()) run.expected_start = job.start;
      break;
    }
    case SlurmPhase::running:
      if (!job.nodes.empty() && !attempt.node) attempt.node = job.nodes;
      break;
    case SlurmPhase::ended:
      attempt.reason = fmt::format("{}; `hpcbench run` settles it", job.state);
      break;
  }
}

}  // namespace

void add_queue(StatusView& view, const Study& study, ToolRunner& tools) {
  const auto is_open = [](const RunStatus& run) {
    return run.attempt && !is_outcome(run.state) && run.attempt->batch && run.attempt->executor == "slurm";
  };
  if (std::none_of(view.runs.begin(), view.runs.end(), is_open)) return;
  const ToolResult answer = tools.run({squeue_arguments(), {}, 60});
  if (!answer.succeeded()) {
    say(fmt::format("squeue does not answer ({}): what jobs wait for is not shown", describe(answer)));
    return;
  }
  std::map<std::pair<std::string, int>, SlurmJob> jobs;
  for (SlurmJob& job : parse_squeue(answer.output)) {
    SlurmJob& known = jobs[{job.name, job.index}];
    if (known.id.empty() || phase_of(known.state) == SlurmPhase::ended) known = std::move(job);
  }
  std::map<std::string, std::map<std::string, int>> places;
  for (RunStatus& run : view.runs) {
    if (!is_open(run)) continue;
    const std::string& batch = *run.attempt->batch;
    if (places.count(batch) == 0) places[batch] = places_in_batch(study.results, batch);
    const auto place = places[batch].find(to_string(run.attempt->key));
    if (place == places[batch].end()) continue;
    const auto job = jobs.find({slurm_job_name(study.experiment.name, batch), place->second});
    if (job != jobs.end()) add_job(run, job->second);
  }
}

}  // namespace hpcbench
