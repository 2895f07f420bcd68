#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/settings.hpp"
#include "base/text.hpp"

/// How a row of a setting parses its text and prints its value: one function for each kind of member, of Settings or of a
/// task's own struct. InputError for a text of another kind; it begins with `where` and states the valid values.
namespace hpcbench::train {

[[noreturn]] void refuse_value(const std::string& where, const std::string& text, const std::string& needed);
std::int64_t integer_of(const std::string& text, const std::string& where, std::int64_t least, std::int64_t most);
double number_of(const std::string& text, const std::string& where, double least, const std::string& needed);
bool flag_of(const std::string& text, const std::string& where);

inline constexpr std::int64_t kMaxCount = std::int64_t{1} << 40;
inline constexpr std::int64_t kMaxInt = 1 << 30;
inline constexpr const char* kAtLeastZero = "a number of at least 0";

template <class T>
struct ValueOf {
  using Type = T;
};
template <class T>
struct ValueOf<std::optional<T>> {
  using Type = T;
};

template <class T>
SettingValue said(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return std::string(to_string(value));
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return static_cast<std::int64_t>(value);
  } else {
    return value;
  }
}

template <class T>
SettingValue said(const std::optional<T>& value) {
  return value ? said(*value) : SettingValue();
}

using Set = std::function<void(Settings&, const std::string& text, const std::string& where)>;

/// Sets and prints a member of Settings.
struct Access {
  Set set;
  std::function<SettingValue(const Settings&)> get;
};

/// Returns the owner of the member: Settings itself, or the settings of a task in it.
template <class Owner>
Owner& owner_of(Settings& settings) {
  if constexpr (std::is_same_v<Owner, Settings>) {
    return settings;
  } else {
    return settings.own<Owner>();
  }
}
template <class Owner>
const Owner& owner_of(const Settings& settings) {
  if constexpr (std::is_same_v<Owner, Settings>) {
    return settings;
  } else {
    return settings.own<Owner>();
  }
}

template <class Owner, class M>
Access text_of(M Owner::*member) {
  return {[member](Settings& s, const std::string& text, const std::string&) { owner_of<Owner>(s).*member = text; },
          [member](const Settings& s) { return said(owner_of<Owner>(s).*member); }};
}

template <class Owner, class M>
Access count_of(M Owner::*member, std::int64_t least, std::int64_t most = kMaxCount) {
  return {[=](Settings& s, const std::string& text, const std::string& where) {
            owner_of<Owner>(s).*member = static_cast<typename ValueOf<M>::Type>(integer_of(text, where, least, most));
          },
          [member](const Settings& s) { return said(owner_of<Owner>(s).*member); }};
}

template <class Owner, class M>
Access real_of(M Owner::*member, double least, const std::string& needed) {
  return {[=](Settings& s, const std::string& text, const std::string& where) {
            owner_of<Owner>(s).*member = number_of(text, where, least, needed);
          },
          [member](const Settings& s) { return said(owner_of<Owner>(s).*member); }};
}

/// Parses a number in (0, 1].
template <class Owner>
Access share_of(std::optional<double> Owner::*member) {
  constexpr const char* kNeeded = "a number above 0 and at most 1";
  return {[=](Settings& s, const std::string& text, const std::string& where) {
            const double share = number_of(text, where, 0, kNeeded);
            if (share <= 0 || share > 1) refuse_value(where, text, kNeeded);
            owner_of<Owner>(s).*member = share;
          },
          [member](const Settings& s) { return said(owner_of<Owner>(s).*member); }};
}

template <class Owner, class M>
Access switch_of(M Owner::*member) {
  return {[member](Settings& s, const std::string& text, const std::string& where) {
            owner_of<Owner>(s).*member = flag_of(text, where);
          },
          [member](const Settings& s) { return said(owner_of<Owner>(s).*member); }};
}

template <class Owner, class M>
Access choice_of(M Owner::*member, std::vector<typename ValueOf<M>::Type> choices) {
  return {[=](Settings& s, const std::string& text, const std::string& where) {
            std::vector<std::string> names;
            for (const auto choice : choices) {
              names.emplace_back(to_string(choice));
              if (names.back() == text) {
                owner_of<Owner>(s).*member = choice;
                return;
              }
            }
            refuse_value(where, text, "one of " + join(names, ", ") + did_you_mean(text, names));
          },
          [member](const Settings& s) { return said(owner_of<Owner>(s).*member); }};
}

/// Collects rows.
class RowList {
 public:
  SettingRow& add(const char* name, const char* value_name, const char* help, Access access) {
    SettingRow& row = rows_.emplace_back();
    row.name = name;
    row.value_name = value_name;
    row.help = help;
    row.set = std::move(access.set);
    row.get = std::move(access.get);
    return row;
  }
  std::vector<SettingRow> take() { return std::move(rows_); }

 private:
  std::vector<SettingRow> rows_;
};

}  // namespace hpcbench::train
