#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hpcbench {

/// What a template may use: texts, lists of texts (sections with `{{.}}`) and flags.
struct TemplateValues {
  std::vector<std::pair<std::string, std::string>> texts;
  std::vector<std::pair<std::string, std::vector<std::string>>> lists;
  std::vector<std::pair<std::string, bool>> flags;

  std::vector<std::string> names() const;
};

/// A mustache template for shell scripts: `{{name}}` is one word of the shell, `{{{name}}}` the value as it is. Values are
/// never read as templates. Partials and other delimiters are refused.
class ShellTemplate {
 public:
  /// `name` is for messages. InputError if the text is no template.
  ShellTemplate(std::string text, std::string name);
  ~ShellTemplate();
  /// InputError `error: NAME:LINE: ...` for a name that `values` lacks (mustache itself would write nothing there).
  std::string render(const TemplateValues& values);
  const std::string& text() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hpcbench
