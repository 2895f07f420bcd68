#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/value.hpp"
#include "spec/experiment.hpp"

namespace hpcbench {

/// A `{{name}}` of a text: `offset` is that of its first brace, `name` what stands between the braces without blanks.
struct Placeholder {
  std::string name;
  std::size_t offset = 0;
};

/// The placeholders of a text, from left to right. Braces around anything but a name (letters, digits, `_`, and `-` and `.`
/// inside, which no name can hold and which are therefore undefined) are plain text: `{{.ID}}`, `{{}}`.
std::vector<Placeholder> find_placeholders(std::string_view text);

/// Names that the command and the set-up lines of one point use and that are neither built in, nor its parameters, nor
/// its axes; each once, in the order of their first use. For a point whose overrides are applied.
std::vector<std::string> undefined_placeholders(const Work& work, const Bindings& axes);

}  // namespace hpcbench
