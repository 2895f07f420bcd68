#pragma once

#include <string>
#include <vector>

namespace hpcbench {

struct Study;

/// One finding: the state of a thing and, if it is bad, what to do.
struct Finding {
  enum class Kind {
    fine,
    warning,  // may go wrong, or differently from what was meant
    problem,  // will not work
  };
  Kind kind = Kind::fine;
  std::string text;
  std::string advice;  // empty if it is fine
};
using Findings = std::vector<Finding>;

/// Appends what was found, unless it is there already.
void note_finding(Findings& findings, Finding::Kind kind, std::string text, std::string advice = "");

/// The programs, scripts, data and models that commands and the trainer name: what `run`, too, looks for before it starts
/// anything.
void examine_needs(const Study& study, Findings& findings);

}  // namespace hpcbench
