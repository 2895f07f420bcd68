#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/value.hpp"
#include "cli/completion/complete.hpp"

namespace hpcbench {

/// What stands before the word that is completed.
struct GivenWords {
  std::string command;                                    // `run`
  std::vector<std::string> positionals;                   // behind the command
  std::map<std::string, std::vector<std::string>> given;  // `--profile` -> its values
};

/// What a value can be.
enum class ValueKind {
  nothing,
  files,
  folders,
  experiments,
  studies,
  runs,
  points,
  axes,
  profiles,
  sites,
  metrics,
  preparations
};
/// What an option or a positional argument of the command takes, by its name and by what --help calls its value.
ValueKind value_kind(const commandline::Option& option, const GivenWords& given);

/// Values of this kind, whole; those that `typed` is no beginning of may be among them.
std::vector<Offer> offer_values(ValueKind kind, const GivenWords& given, const std::string& typed);

/// Entries of the folder that `typed` names, hidden ones where it asks for them; folders end in `/`.
enum class FileFilter { all, folders, experiments };
std::vector<Offer> offer_files(const std::string& typed, FileFilter filter);

/// What stands behind [EXPERIMENT/](CONFIG_ID prefix | axis=value,...)[/rNN[/aN]].
std::vector<Offer> offer_runs(const GivenWords& given, const std::string& typed);
/// A value as it stands in `axis=value,...`: commas and bars with a backslash.
std::string point_value(const Value& value);
/// `axis=value,axis=v1|v2`.
std::vector<Offer> offer_points(const std::map<std::string, std::vector<std::string>>& axes, const std::string& typed);
/// The last value of an option, else `otherwise`.
std::string last_given(const GivenWords& given, const std::string& option, const std::string& otherwise);

}  // namespace hpcbench
