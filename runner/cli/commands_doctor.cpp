#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/executor_kind.hpp"
#include "base/interrupt.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/study_options.hpp"
#include "doctor/doctor.hpp"
#include "doctor/doctor_probe.hpp"

namespace hpcbench {

namespace {

/// What `run` would refuse as wrong input is a finding like any other here.
void examine_study(const Study& study, Findings& findings) {
  try {
    check_study(study);
  } catch (const InputError& error) {
    std::string text = error.what();
    constexpr std::string_view kPrefix = "error: ";
    if (text.starts_with(kPrefix)) text.erase(0, kPrefix.size());
    findings.push_back({Finding::Kind::problem, text, "mend the experiment file; `hpcbench check` says when it is well"});
  }
}

constexpr int kSignalExitBase = 128;

struct DoctorOptions {
  StudyOptions study;
  bool probe = false;
  std::string probe_timeout = "5m";
};

double probe_limit_s(const std::string& said) {
  const std::optional<double> seconds = parse_duration(said);
  if (seconds && *seconds > 0) return *seconds;
  throw InputError(fmt::format("error: --probe-timeout: `{}` is no duration: write `90s`, `5m` or `1h`", said));
}

int examine(const DoctorOptions& options) {
  const double limit_s = probe_limit_s(options.probe_timeout);
  const Study study = load_study(options.study);
  if (!study.source.ours) require_own(study);  // it calls what the site names
  if (options.probe && executor_kind(study.experiment.executor).described) {
    throw InputError(
        "error: --probe submits jobs to Slurm only, or runs one here\n  = for another batch system, run one "
        "configuration of the study: hpcbench run FILE --repeats 1 --only CONDITION");
  }
  Findings findings;
  ProcessToolRunner tools;
  examine_machine(study, tools, findings);
  examine_modules(study, tools, findings);
  const std::string executor = study.experiment.executor;
  if (executor_kind(executor).steps) {
    examine_slurm(study, tools, findings);
  } else if (executor_kind(executor).described) {
    examine_batch_system(study, tools, findings);
  } else {
    examine_local(study, findings);
  }
  examine_study(study, findings);
  if (options.probe) probe_nodes(study, tools, system_clock(), limit_s, findings);
  print_data(findings_text(findings));
  if (interrupted() != 0) return kSignalExitBase + interrupted();
  const auto count = [&](Finding::Kind kind) {
    return std::count_if(findings.begin(), findings.end(), [&](const Finding& finding) { return finding.kind == kind; });
  };
  const auto problems = count(Finding::Kind::problem);
  const auto warnings = count(Finding::Kind::warning);
  say(problems > 0 ? fmt::format("{} problem{}: `hpcbench run` would not work", problems, problems == 1 ? "" : "s")
                   : fmt::format("executor {}: nothing found that will not work{}", executor,
                                 warnings > 0 ? fmt::format("; {} warning{}", warnings, warnings == 1 ? "" : "s") : ""));
  return problems > 0 ? 1 : 0;
}

}  // namespace

void add_doctor(commandline::Command& command) {
  const auto options = std::make_shared<DoctorOptions>();
  add_study_options(command, options->study, FileArgument::optional);
  command.add_flag("--probe", options->probe,
                   "submit a short job for each shape of job, and say what its nodes report; without Slurm, run one here");
  command.add_option("--probe-timeout", options->probe_timeout, "cancel what has not ended by then").value_name("DURATION");
  options->study.looks_back = false;  // it looks ahead, as `run` does
  command.action([options] { return examine(*options); });
}

}  // namespace hpcbench
