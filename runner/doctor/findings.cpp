#include <fmt/format.h>

#include <string>

#include "doctor/doctor.hpp"

namespace hpcbench {

namespace {

std::string as_sentence(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z') text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text + ".";
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

}  // namespace hpcbench
