#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/error.hpp"
#include "base/terminal.hpp"
#include "cli/command.hpp"
#include "cli/study_options.hpp"
#include "doctor/doctor.hpp"

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

int examine(const StudyOptions& options) {
  const Study study = load_study(options);
  Findings findings;
  ProcessToolRunner tools;
  examine_machine(study, tools, findings);
  examine_modules(study, tools, findings);
  const std::string executor = study.experiment.executor;
  if (executor == "slurm") {
    examine_slurm(study, tools, findings);
  } else {
    examine_local(study, findings);
  }
  examine_study(study, findings);
  print_data(findings_text(findings));
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
  const auto options = std::make_shared<StudyOptions>();
  add_study_options(command, *options, FileArgument::optional);
  options->looks_back = false;  // it looks ahead, as `run` does
  command.action([options] { return examine(*options); });
}

}  // namespace hpcbench
