#pragma once

#include <string>
#include <string_view>

namespace hpcbench {

/// True for names that end in `.yaml` or `.yml`.
bool is_yaml_name(std::string_view name);

/// The first document of a YAML file of another program as JSON, each value on the line on which it stands in the YAML.
/// Plain scalars that JSON has (numbers, booleans, null) are these; all others are strings. Tags are ignored. On failure
/// (no YAML, aliases, nesting deeper than 64) returns an empty text, and `problem` says why and in which line.
std::string yaml_as_json(const std::string& text, std::string& problem);

}  // namespace hpcbench
