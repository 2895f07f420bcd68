#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace hpcbench::commandline {

/// The variable that an option sets, which must live as long as the option. It is made from the variable itself:
/// `command.add_option("--slots", options.slots, "...")`.
struct Target {
  Target(bool& value) : variable(&value) {}  // a flag
  Target(int& value) : variable(&value) {}
  Target(std::uint64_t& value) : variable(&value) {}
  Target(std::optional<int>& value) : variable(&value) {}
  Target(std::optional<std::int64_t>& value) : variable(&value) {}
  Target(double& value) : variable(&value) {}
  Target(std::string& value) : variable(&value) {}
  Target(std::filesystem::path& value) : variable(&value) {}
  /// The option may be repeated; what is given replaces the values that were there.
  Target(std::vector<std::string>& value) : variable(&value) {}

  std::variant<bool*, int*, std::uint64_t*, std::optional<int>*, std::optional<std::int64_t>*, double*, std::string*,
               std::filesystem::path*, std::vector<std::string>*>
      variable;
};

/// An option (`--slots N`), a flag (`--yes`) or a positional argument (`FILE`) of a command. The functions declare; the data is
/// what parsing, --help and completion go by.
struct Option {
  /// `names`: "--slots", "-o,--output", "-n", or "FILE" for a positional argument.
  Option(std::string_view names, Target target, std::string_view help);

  Option& value_name(std::string_view name);                // in --help, instead of the target's type
  Option& shows_initial();                                  // --help shows the target's initial value
  Option& shows_initial(std::string_view words);            // --help describes it
  Option& one_of(std::vector<std::string> values);          // a fixed set; completion offers it
  Option& parts_of(std::vector<std::string> values);        // a list with commas; whoever reads it checks it
  Option& positive();                                       // a whole number above 0
  Option& not_negative();                                   // a number of at least 0
  Option& between(double least, double most);               // a number
  Option& not_empty();                                      // a text of at least one character that is no blank
  Option& required();                                       // must be given
  Option& needs(std::string_view name);                     // must not be given without that option
  Option& excludes(const std::vector<std::string>& names);  // must not be given with any of these
  Option& last_wins();                                      // may be repeated: the last value counts
  Option& value_may_be_left_out();                          // `--shuffle` alone gives the empty value
  Option& takes_all_that_follow();                          // one `--results` takes several values

  bool is_positional() const { return !position_name.empty(); }
  bool is_flag() const { return std::holds_alternative<bool*>(target.variable); }
  bool is_list() const { return std::holds_alternative<std::vector<std::string>*>(target.variable); }
  bool is_given() const { return count > 0; }
  /// As messages name it: `--output`, `-n`, `FILE`.
  std::string name() const;
  /// `INT:POSITIVE`: what a value is, for --help and messages.
  std::string value_label() const;
  /// Sets the target from the values given, of which there is one at least (of a flag an empty one). The mistake, if any.
  std::optional<std::string> set_values(const std::vector<std::string>& values) const;

  std::string long_name, short_name;  // without dashes
  std::string position_name;
  Target target;
  std::string help;
  std::string initial;              // as --help shows it
  std::vector<std::string> values;  // the fixed set
  bool is_list_of_values = false;   // parts_of
  std::optional<double> least, most;
  bool is_required = false, is_never_empty = false, is_last_wins = false, is_value_optional = false, is_greedy = false;
  std::vector<std::string> needed, excluded;  // names
  int count = 0;                              // how often it was given

 private:
  /// What a number must be, in words.
  std::string wanted_number() const;

  const char* type_;  // what --help calls a value of the target: TEXT, INT ...
  std::string value_name_;
  std::string range_label_;
};

/// Whether either is declared to exclude the other.
bool exclude_each_other(const Option& a, const Option& b);

}  // namespace hpcbench::commandline
