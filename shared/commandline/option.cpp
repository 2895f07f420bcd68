#include "commandline/option.hpp"

#include <algorithm>
#include <array>
#include <boost/lexical_cast/try_lexical_convert.hpp>
#include <charconv>
#include <cmath>
#include <type_traits>
#include <utility>

#include "words/did_you_mean.hpp"

namespace hpcbench::commandline {

namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

/// Returns ` (did you mean `latex`?)` for `tex`: the ending of its files, or its name elsewhere; or for `latx`.
std::string other_word(const std::string& given, const std::vector<std::string>& values) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kWords = {{{"tex", "latex"},
                                                                                     {"booktabs", "latex"},
                                                                                     {"md", "markdown"},
                                                                                     {"gfm", "markdown"},
                                                                                     {"txt", "text"},
                                                                                     {"table", "text"},
                                                                                     {"plain", "text"},
                                                                                     {"htm", "html"},
                                                                                     {"xlsx", "csv"},
                                                                                     {"tsv", "csv"}}};
  for (const auto& [other, own] : kWords) {
    if (given == other && std::find(values.begin(), values.end(), own) != values.end())
      return " (did you mean `" + std::string(own) + "`?)";
  }
  return did_you_mean(given, values);
}

/// Returns a number in its usual spelling: 3600, 0.2.
std::string plain(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::fixed).ptr};
}

/// Returns the value of a variable for --help; empty if it has no information.
template <class T>
std::string words_of(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    return value.string();
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    return value.empty() ? "" : "[" + joined(value) + "]";
  } else if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    return value == 0 ? "" : plain(static_cast<double>(value));
  } else {
    return "";
  }
}

/// Parses a text into a variable; false if the text is invalid.
template <class T>
bool read(const std::string& text, T& value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return boost::conversion::try_lexical_convert(text, value);
  } else {
    value = text;
    return true;
  }
}
template <class T>
bool read(const std::string& text, std::optional<T>& value) {
  return read(text, value.emplace());
}

/// Returns the word in --help for a value of the variable.
template <class T>
constexpr const char* type_of(const T*) {
  if constexpr (std::is_same_v<T, bool>) {
    return "";
  } else if constexpr (std::is_same_v<T, double>) {
    return "FLOAT";
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return "UINT";
  } else if constexpr (std::is_same_v<T, int> || std::is_same_v<T, std::optional<int>> ||
                       std::is_same_v<T, std::optional<std::int64_t>>) {
    return "INT";
  } else {
    return "TEXT";
  }
}

/// Sets the variable to the last of `values`, or a list to all of them; false if a value is invalid.
template <class T>
bool set(T& variable, const std::vector<std::string>& values) {
  if constexpr (std::is_same_v<T, bool>) {
    return variable = true;
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    variable = values;
    return true;
  } else {
    return read(values.back(), variable);
  }
}

}  // namespace

Option::Option(std::string_view names, Target its_target, std::string_view its_help)
    : target(its_target),
      help(its_help),
      initial(std::visit([](const auto* variable) { return words_of(*variable); }, target)),
      type_(std::visit([](const auto* variable) { return type_of(variable); }, target)),
      value_name_(type_) {
  if (std::holds_alternative<std::uint64_t*>(target)) least = 0;
  const std::size_t comma = std::min(names.find(','), names.size());
  for (const std::string_view name : {names.substr(0, comma), names.substr(std::min(comma + 1, names.size()))}) {
    if (name.starts_with("--")) {
      long_name = name.substr(2);
    } else if (name.starts_with("-")) {
      short_name = name.substr(1);
    } else if (!name.empty()) {
      position_name = name;
    }
  }
}

Option& Option::value_name(std::string_view name) {
  value_name_ = name;
  return *this;
}

Option& Option::shows_initial(std::string_view words) {
  initial = words;
  return *this;
}

Option& Option::one_of(std::vector<std::string> its_values) {
  values = std::move(its_values);
  return *this;
}

Option& Option::parts_of(std::vector<std::string> its_values) {
  is_list_of_values = true;
  return one_of(std::move(its_values));
}

Option& Option::at_least(double its_least) {
  least = its_least;
  return *this;
}

Option& Option::between(double its_least, double its_most) {
  most = its_most;
  return at_least(its_least);
}

Option& Option::not_empty() {
  is_never_empty = true;
  return *this;
}

Option& Option::required() {
  is_required = true;
  return *this;
}

Option& Option::needs(std::string_view name) {
  needed.emplace_back(name);
  return *this;
}

Option& Option::excludes(const std::vector<std::string>& names) {
  excluded.insert(excluded.end(), names.begin(), names.end());
  return *this;
}

Option& Option::last_wins() {
  is_last_wins = true;
  return *this;
}

Option& Option::value_may_be_left_out() {
  is_value_optional = true;
  return *this;
}

Option& Option::everywhere() {
  is_everywhere = true;
  return *this;
}

Option& Option::takes_all_that_follow() {
  is_greedy = true;
  return *this;
}

std::string Option::name() const {
  if (is_positional()) return position_name;
  return long_name.empty() ? "-" + short_name : "--" + long_name;
}

std::string Option::value_label() const {
  if (values.empty()) return value_name_;
  return value_name_ + ":{" + joined(values) + "}" + (is_list_of_values ? ",..." : "");
}

bool Option::is_excluded_by(const Option& other) const {
  const auto names = [](const Option& one, const Option& two) {
    return std::find(one.excluded.begin(), one.excluded.end(), two.name()) != one.excluded.end();
  };
  return names(*this, other) || names(other, *this);
}

std::optional<std::string> Option::set_target() const {
  if (!is_given()) return std::nullopt;
  if (given.size() > 1 && !is_flag() && !is_list() && !is_last_wins) {
    return name() + " may be given once, not " + std::to_string(given.size()) + " times";
  }
  for (const std::string& value : given) {
    if (is_never_empty && value.find_first_not_of(" \t\n") == std::string::npos)
      return name() + " is empty: give it a value, or leave the option out";
    if (values.empty() || is_list_of_values || std::find(values.begin(), values.end(), value) != values.end()) continue;
    return name() + ": `" + value + "` is not in {" + joined(values) + "}" + other_word(value, values);
  }
  const bool is_set = std::visit([&](auto* variable) { return set(*variable, given); }, target);
  if (type_ == std::string_view("TEXT") || is_flag()) return std::nullopt;
  const std::string& last = given.back();
  double number = 0;
  const bool is_number = read(last, number) && std::isfinite(number);
  if (is_set && is_number && number >= least.value_or(number) && number <= most.value_or(number)) return std::nullopt;
  const bool is_whole = type_ != std::string_view("FLOAT");
  const bool only_digits = last.find_first_not_of("0123456789") == std::string::npos;
  if (is_whole && is_number && only_digits && number >= least.value_or(0)) return name() + ": " + last + " is too large";
  std::string wanted = is_whole ? "whole number" : "number";
  if (most) {
    wanted += " from " + plain(*least) + " to " + plain(*most);
  } else if (least) {
    wanted += " of at least " + plain(*least);
  }
  return name() + ": `" + last + "` is not a " + wanted;
}

}  // namespace hpcbench::commandline
