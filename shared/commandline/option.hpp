#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace hpcbench::commandline {

/// The variable that an option sets, which must live as long as the option. A bool is a flag; a list takes each value given.
using Target = std::variant<bool*, int*, std::uint64_t*, std::optional<int>*, std::optional<std::int64_t>*, double*,
                            std::string*, std::filesystem::path*, std::vector<std::string>*>;

/// An option (`--slots N`), a flag (`--yes`) or a positional argument (`FILE`) of a command. The functions declare; parsing,
/// --help and completion read the data.
struct Option {
  /// `names`: "--slots", "-o,--output", "-n", or "FILE" for a positional argument. --help shows the target's value as the
  /// default, unless it is empty or 0.
  Option(std::string_view names, Target target, std::string_view help);

  Option& value_name(std::string_view name);                // in --help, instead of the target's type
  Option& shows_initial(std::string_view words);            // --help shows these words as the default
  Option& one_of(std::vector<std::string> values);          // a fixed set; completion offers it
  Option& parts_of(std::vector<std::string> values);        // a list with commas; the reader of the list checks it
  Option& at_least(double least);                           // a number
  Option& between(double least, double most);               // a number
  Option& not_empty();                                      // a text with at least one character that is no blank
  Option& required();                                       // must be given
  Option& needs(std::string_view name);                     // must not be given without that option
  Option& excludes(const std::vector<std::string>& names);  // must not be given with any of these
  Option& last_wins();                                      // may be repeated: the last value counts
  Option& value_may_be_left_out();                          // `--shuffle` alone means the empty value
  Option& everywhere();                                     // the commands below accept it, too; their --help does not list it
  Option& takes_all_that_follow();                          // one `--results` takes several values

  bool is_positional() const { return !position_name.empty(); }
  bool is_flag() const { return std::holds_alternative<bool*>(target); }
  bool is_list() const { return std::holds_alternative<std::vector<std::string>*>(target); }
  bool is_given() const { return !given.empty(); }
  /// Returns the name for messages: `--output`, `-n`, `FILE`.
  std::string name() const;
  /// Returns a description of the value for --help and messages: `TEXT:{text,json}`.
  std::string value_label() const;
  /// Returns whether either is declared to exclude the other.
  bool is_excluded_by(const Option& other) const;
  /// Sets the target from `given`, if it was given. Returns the error, if any.
  std::optional<std::string> set_target() const;

  std::string long_name, short_name;  // without dashes
  std::string position_name;
  Target target;
  std::string help;
  std::string initial;              // as --help shows it
  std::vector<std::string> values;  // the fixed set
  bool is_list_of_values = false;   // parts_of
  std::optional<double> least, most;
  bool is_everywhere = false, is_inherited = false;
  bool is_required = false, is_never_empty = false, is_last_wins = false, is_value_optional = false, is_greedy = false;
  std::vector<std::string> needed, excluded;  // names
  std::vector<std::string> given;             // each value on the command line; a flag has an empty one

 private:
  const char* type_;  // of the target in --help: TEXT, INT ...
  std::string value_name_;
};

}  // namespace hpcbench::commandline
