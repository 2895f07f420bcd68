#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/error.hpp"
#include "cli/command.hpp"
#include "cli/doctor.hpp"
#include "cli/terminal.hpp"

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

std::string as_sentence(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z') text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text + ".";
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

std::string findings_text(const Findings& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    const char* const kind = finding.kind == Finding::Kind::problem   ? "problem"
                             : finding.kind == Finding::Kind::warning ? "warning"
                                                                      : "ok";
    text += fmt::format("{:<8} {}", kind, finding.text);
    if (!finding.advice.empty()) text += ". " + as_sentence(finding.advice);
    text += '\n';
  }
  return text;
}

void add_doctor(commandline::Command& command) {
  const auto options = std::make_shared<StudyOptions>();
  add_study_options(command, *options, FileArgument::optional);
  options->looks_back = false;  // it looks ahead, as `run` does
  command.action([options] { return examine(*options); });
}

}  // namespace hpcbench
