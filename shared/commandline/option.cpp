#include "commandline/option.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

namespace hpcbench::commandline {

namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

/// A number as people write it: 3600, 0.2.
std::string plain(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

template <class T>
bool read_whole_number(const std::string& text, T& value) {
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* const end = text.data() + text.size();
  T number = 0;
  const auto [stop, error] = std::from_chars(begin, end, number);
  if (error != std::errc() || stop != end) return false;
  value = number;
  return true;
}

template <class T>
bool read_whole_number(const std::string& text, std::optional<T>& value) {
  T number = 0;
  if (!read_whole_number(text, number)) return false;
  value = number;
  return true;
}

bool read_number(const std::string& text, double& value) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != 0 || !std::isfinite(number)) return false;
  value = number;
  return true;
}

/// `read` takes one text; of several the last counts.
template <class Read>
auto last_by(Read read) {
  return [read](const std::vector<std::string>& values) -> std::optional<std::string> {
    if (read(values.back())) return std::nullopt;
    return values.back();
  };
}

template <class T>
auto whole_number_into(T& value) {
  return last_by([&value](const std::string& text) { return read_whole_number(text, value); });
}

}  // namespace

Target::Target(bool& value)
    : kind(Kind::flag), set([&value](const std::vector<std::string>&) {
        value = true;
        return std::nullopt;
      }) {}

Target::Target(int& value)
    : kind(Kind::whole_number), type("INT"), initial(std::to_string(value)), set(whole_number_into(value)) {}

Target::Target(std::uint64_t& value)
    : kind(Kind::whole_number), type("UINT"), initial(std::to_string(value)), least(0), set(whole_number_into(value)) {}

Target::Target(std::optional<int>& value) : kind(Kind::whole_number), type("INT"), set(whole_number_into(value)) {}

Target::Target(std::optional<std::int64_t>& value) : kind(Kind::whole_number), type("INT"), set(whole_number_into(value)) {}

Target::Target(double& value)
    : kind(Kind::number),
      type("FLOAT"),
      initial(plain(value)),
      set(last_by([&value](const std::string& text) { return read_number(text, value); })) {}

Target::Target(std::string& value)
    : kind(Kind::text), type("TEXT"), initial(value), set(last_by([&value](const std::string& text) {
        value = text;
        return true;
      })) {}

Target::Target(std::filesystem::path& value)
    : kind(Kind::text), type("TEXT"), initial(value.string()), set(last_by([&value](const std::string& text) {
        value = text;
        return true;
      })) {}

Target::Target(std::vector<std::string>& value)
    : kind(Kind::text), type("TEXT"), initial("[" + joined(value) + "]"), is_list(true), set([&value](const auto& values) {
        value = values;
        return std::nullopt;
      }) {}

Option::Option(const std::string& names, Target its_target, std::string its_help)
    : target(std::move(its_target)), help(std::move(its_help)), least(target.least), value_name_(target.type) {
  const std::size_t comma = names.find(',');
  for (const std::string& name : {names.substr(0, comma), comma == std::string::npos ? "" : names.substr(comma + 1)}) {
    if (name.starts_with("--")) {
      long_name = name.substr(2);
    } else if (name.starts_with("-")) {
      short_name = name.substr(1);
    } else if (!name.empty()) {
      position_name = name;
    }
  }
}

Option& Option::value_name(std::string name) {
  value_name_ = std::move(name);
  return *this;
}

Option& Option::shows_initial() { return shows_initial(target.initial); }

Option& Option::shows_initial(std::string words) {
  initial = std::move(words);
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
  range_label_ = target.type + " in [" + plain(its_least) + " - " + plain(its_most) + "]";
  return *this;
}

Option& Option::required() {
  is_required = true;
  return *this;
}

Option& Option::needs(std::string name) {
  needed.push_back(std::move(name));
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

std::optional<std::string> Option::set_values(const std::vector<std::string>& given) const {
  if (is_flag()) return target.set(given);
  if (given.size() > 1 && !target.is_list && !is_last_wins) {
    return name() + " may be given once, not " + std::to_string(given.size()) + " times";
  }
  if (!values.empty() && !is_list_of_values) {
    for (const std::string& value : given) {
      if (std::find(values.begin(), values.end(), value) != values.end()) continue;
      return name() + ": " + value + " not in {" + joined(values) + "}";
    }
  }
  std::optional<std::string> wrong = target.set(given);
  double number = 0;
  const std::string& last = given.back();
  const bool is_number = read_number(last, number);
  if (is_number && ((least && number < *least) || (most && number > *most))) wrong = last;
  if (!wrong) return std::nullopt;
  if (is_number && std::all_of(last.begin(), last.end(), is_digit) && least && !most && number >= *least) {
    return name() + ": " + last + " is too large";
  }
  return name() + ": `" + *wrong + "` is not a " + (target.kind == Target::Kind::whole_number ? "whole number" : "number") +
         (most    ? " from " + plain(*least) + " to " + plain(*most)
          : least ? " of at least " + plain(*least)
                  : "");
}

bool exclude_each_other(const Option& a, const Option& b) {
  const auto names = [](const Option& one, const Option& other) {
    return std::find(one.excluded.begin(), one.excluded.end(), other.name()) != one.excluded.end();
  };
  return names(a, b) || names(b, a);
}

}  // namespace hpcbench::commandline
