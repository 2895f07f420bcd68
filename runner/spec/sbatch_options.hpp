#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "yaml/diagnostics.hpp"
#include "yaml/yaml_tree.hpp"

namespace hpcbench {

/// An option of one of Slurm's tools (its man page) that a list of further options must not hold.
struct OwnOption {
  std::string_view name;  // without its dashes
  char letter;            // of its short form; 0: it has none
  const char* why;
  const char* instead;
};

/// Which options of a tool are ours, and how the tool reads its options.
struct OptionRules {
  const char* tool;
  const char* example;                     // of an option that may be given
  std::string_view letters_without_value;  // of short options: others may follow behind one dash
  std::span<const OwnOption> own;
};

/// Complains about each option of a list that is ours, with what to do instead, and about what is no option. An option is
/// known as the tool knows it: long, short (alone, joined with its value, behind other short ones) and abbreviated.
/// `node` is the list, `options` what was read from it, `what` its name: `resources.extra`.
void check_tool_options(const OptionRules& rules, const YamlNode& node, const std::vector<std::string>& options,
                        const std::string& what, Diagnostics& diagnostics);

/// Complains about each option of an `extra` list that hpcbench writes itself or relies on, with the key to use instead. An
/// option is known as sbatch knows it: long, short (alone, joined with its value, behind other short ones) and abbreviated.
/// `node` is the list, `options` what was read from it, `what` its name: `resources.extra`.
void check_sbatch_options(const YamlNode& node, const std::vector<std::string>& options, const std::string& what,
                          Diagnostics& diagnostics);

}  // namespace hpcbench
