#include "commandline/option.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <type_traits>
#include <utility>

namespace hpcbench::commandline {

namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

/// ` (did you mean `latex`?)` for `tex`: the ending of its files, or what others call it.
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
  return "";
}

/// A number as people write it: 3600, 0.2.
std::string plain(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

// What a variable holds, in words.
std::string words_of(bool) { return ""; }
std::string words_of(int value) { return std::to_string(value); }
std::string words_of(std::uint64_t value) { return std::to_string(value); }
std::string words_of(double value) { return plain(value); }
std::string words_of(const std::string& value) { return value; }
std::string words_of(const std::filesystem::path& value) { return value.string(); }
std::string words_of(const std::vector<std::string>& value) { return "[" + joined(value) + "]"; }
template <class T>
std::string words_of(const std::optional<T>&) {
  return "";
}

// Puts a text into a variable; false: it is no such value.
template <class T>
std::enable_if_t<std::is_integral_v<T>, bool> read(const std::string& text, T& value) {
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  return error == std::errc() && stop == end;
}
bool read(const std::string& text, double& value) {
  char* end = nullptr;
  value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == 0 && std::isfinite(value);
}
bool read(const std::string& text, std::string& value) {
  value = text;
  return true;
}
bool read(const std::string& text, std::filesystem::path& value) {
  value = text;
  return true;
}
template <class T>
bool read(const std::string& text, std::optional<T>& value) {
  return read(text, value.emplace());
}

/// What --help calls a value of the variable.
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

/// Sets the variable to the last of `values`, a list to all of them. False: it is no such value.
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
      type_(std::visit([](const auto* variable) { return type_of(variable); }, target.variable)),
      value_name_(type_) {
  if (std::holds_alternative<std::uint64_t*>(target.variable)) least = 0;
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

Option& Option::shows_initial() {
  return shows_initial(std::visit([](const auto* variable) { return words_of(*variable); }, target.variable));
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

Option& Option::positive() {
  least = 1;
  range_label_ = "POSITIVE";
  return *this;
}

Option& Option::not_negative() {
  least = 0;
  range_label_ = "NONNEGATIVE";
  return *this;
}

Option& Option::between(double its_least, double its_most) {
  least = its_least;
  most = its_most;
  range_label_ = std::string(type_) + " in [" + plain(its_least) + " - " + plain(its_most) + "]";
  return *this;
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

Option& Option::takes_all_that_follow() {
  is_greedy = true;
  return *this;
}

std::string Option::name() const {
  if (is_positional()) return position_name;
  return long_name.empty() ? "-" + short_name : "--" + long_name;
}

std::string Option::value_label() const {
  if (!range_label_.empty()) return value_name_ + ":" + range_label_;
  if (values.empty()) return value_name_;
  return value_name_ + ":{" + joined(values) + "}" + (is_list_of_values ? ",..." : "");
}

std::string Option::wanted_number() const {
  const std::string kind = type_ == std::string_view("FLOAT") ? "number" : "whole number";
  if (most) return kind + " from " + plain(*least) + " to " + plain(*most);
  return least ? kind + " of at least " + plain(*least) : kind;
}

std::optional<std::string> Option::set_values(const std::vector<std::string>& given) const {
  if (given.size() > 1 && !is_flag() && !is_list() && !is_last_wins) {
    return name() + " may be given once, not " + std::to_string(given.size()) + " times";
  }
  const auto is_blank = [](const std::string& value) { return value.find_first_not_of(" \t\n") == std::string::npos; };
  if (is_never_empty && std::any_of(given.begin(), given.end(), is_blank)) {
    return name() + " is empty: give it a value, or leave the option out";
  }
  if (!values.empty() && !is_list_of_values) {
    for (const std::string& value : given) {
      if (std::find(values.begin(), values.end(), value) != values.end()) continue;
      return name() + ": " + value + " not in {" + joined(values) + "}" + other_word(value, values);
    }
  }
  const bool is_set = std::visit([&](auto* variable) { return set(*variable, given); }, target.variable);
  double number = 0;
  const std::string& last = given.back();
  const bool is_number = read(last, number);
  if (is_set && (!is_number || ((!least || number >= *least) && (!most || number <= *most)))) return std::nullopt;
  const bool only_digits = std::all_of(last.begin(), last.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (is_number && only_digits && !most && (!least || number >= *least)) return name() + ": " + last + " is too large";
  return name() + ": `" + last + "` is not a " + wanted_number();
}

bool exclude_each_other(const Option& a, const Option& b) {
  const auto names = [](const Option& one, const Option& other) {
    return std::find(one.excluded.begin(), one.excluded.end(), other.name()) != one.excluded.end();
  };
  return names(a, b) || names(b, a);
}

}  // namespace hpcbench::commandline
