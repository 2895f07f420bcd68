#include "study/accounting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/executor_kind.hpp"
#include "base/interrupt.hpp"
#include "base/terminal.hpp"
#include "executors/slurm/slurm_accounting.hpp"
#include "render/attempt.hpp"
#include "study/executors.hpp"
#include "study/index.hpp"

namespace hpcbench {

namespace {

constexpr double kAccountingPatience = 30;  // seconds that accounting may be late
constexpr double kAccountingPause = 2;

/// The fields that the metrics of the study name.
std::vector<std::string> accounting_metrics(const Study& study) {
  std::vector<std::string> wanted;
  for (const Configuration& configuration : study.plan.configurations) {
    for (const Metric& metric : configuration.work->metrics) {
      const bool fresh = std::find(wanted.begin(), wanted.end(), metric.selector) == wanted.end();
      if (metric.source == "accounting" && fresh) wanted.push_back(metric.selector);
    }
  }
  return wanted;
}

}  // namespace

Accounting::Accounting(const Study& study, ToolRunner& tools, Clock& clock) : study_(study), tools_(tools), clock_(clock) {
  if (!executor_kind(study.experiment.executor).accounting) return;
  const std::vector<std::string> wanted = accounting_metrics(study);
  if (!wanted.empty()) fields_ = accounting_fields(wanted);
}

void Accounting::catch_up(Store& store) {
  if (!fields_.empty()) ask(store, true);
}

void Accounting::complete(Store& store) {
  if (fields_.empty()) return;
  const double end_s = clock_.monotonic_s() + kAccountingPatience;
  while (ask(store, false) && missing_ > 0 && problem_.empty() && clock_.monotonic_s() < end_s && interrupted() == 0) {
    clock_.sleep(kAccountingPause);
  }
  if (!problem_.empty()) {
    say(fmt::format("note: no figures of Slurm's accounting for {} runs: {}", missing_, problem_));
  } else if (missing_ > 0) {
    say(fmt::format("note: Slurm's accounting has no record yet of {} runs; the next `hpcbench run` asks again", missing_));
  }
}

/// False: there is no accounting.
bool Accounting::ask(Store& store, bool with_old) {
  std::vector<AccountedJob> jobs;
  std::vector<AttemptKey> keys;
  double since_unix_s = 0;
  for (const AttemptRecord& record : store.counting_attempts(study_.experiment.name, false)) {
    if (!executor_kind(record.executor).accounting || !is_outcome(record.state) || !record.job || !record.batch ||
        !record.intended_unix_s)
      continue;
    const std::string folder = study_.results + "/" + to_string(record.key);
    if (std::filesystem::exists(folder + "/" + kAccountingFile) || (!with_old && old_.count(folder) != 0)) continue;
    since_unix_s = jobs.empty() ? *record.intended_unix_s : std::min(since_unix_s, *record.intended_unix_s);
    jobs.push_back({folder, *record.job, slurm_job_name(study_.experiment.name, *record.batch)});
    keys.push_back(record.key);
  }
  const AccountingAnswer answer = fetch_accounting(jobs, fields_, since_unix_s, tools_, slurm_tool_timeout_s());
  std::vector<AttemptKey> written;
  for (const std::size_t i : answer.written) written.push_back(keys[i]);
  index_attempts(store, study_.results, written);
  missing_ = answer.accounting ? jobs.size() - written.size() : 0;
  problem_ = answer.problem;
  if (with_old) {
    for (const AccountedJob& job : jobs) old_.insert(job.folder);
  }
  return answer.accounting;
}

}  // namespace hpcbench
