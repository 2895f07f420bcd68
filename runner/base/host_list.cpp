#include "base/host_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/text.hpp"

namespace hpcbench {

namespace {

bool is_all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Returns `07 08 20` for `07-08,20`, the text inside brackets; nullopt for any other text.
std::optional<std::vector<std::string>> numbers_of(std::string_view ranges) {
  std::vector<std::string> numbers;
  for (const std::string& range : split(ranges, ',')) {
    const std::size_t dash = range.find('-');
    const std::string first = range.substr(0, dash);
    const std::string last = dash == std::string::npos ? first : range.substr(dash + 1);
    unsigned long long from = 0;
    unsigned long long to = 0;
    if (!is_all_digits(first) || !is_all_digits(last)) return std::nullopt;
    const bool in_range = std::from_chars(first.data(), first.data() + first.size(), from).ec == std::errc() &&
                          std::from_chars(last.data(), last.data() + last.size(), to).ec == std::errc();
    if (!in_range || to < from || to - from >= kMostHosts - numbers.size()) return std::nullopt;
    for (unsigned long long number = from; number <= to; ++number)
      numbers.push_back(fmt::format("{:0{}}", number, first.size()));
  }
  return numbers.empty() ? std::nullopt : std::optional(std::move(numbers));
}

/// Returns the names of one entry, `a[1-4]b[2,5]-ib`; nullopt if the entry is invalid.
std::optional<std::vector<std::string>> names_of(std::string_view entry) {
  std::vector<std::string> names = {""};
  while (!entry.empty()) {
    const std::size_t open = entry.find('[');
    for (std::string& name : names) name += entry.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = entry.find(']', open);
    if (close == std::string_view::npos) return std::nullopt;
    const auto numbers = numbers_of(entry.substr(open + 1, close - open - 1));
    if (!numbers || numbers->size() > kMostHosts / names.size()) return std::nullopt;
    std::vector<std::string> longer;
    for (const std::string& name : names) {
      for (const std::string& number : *numbers) longer.push_back(name + number);
    }
    names = std::move(longer);
    entry.remove_prefix(close + 1);
  }
  return names;
}

/// Splits the list at the commas outside brackets.
std::vector<std::string_view> entries_of(std::string_view list) {
  std::vector<std::string_view> entries;
  std::size_t begin = 0;
  bool in_brackets = false;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i < list.size() && list[i] == '[') in_brackets = true;
    if (i < list.size() && list[i] == ']') in_brackets = false;
    if (i < list.size() && (list[i] != ',' || in_brackets)) continue;
    if (i > begin) entries.push_back(list.substr(begin, i - begin));
    begin = i + 1;
  }
  return entries;
}

}  // namespace

std::vector<std::string> expand_host_list(std::string_view list) {
  std::vector<std::string> hosts;
  for (const std::string_view entry : entries_of(list)) {
    const auto names = names_of(entry);
    if (!names || names->size() > kMostHosts - hosts.size()) return {};
    hosts.insert(hosts.end(), names->begin(), names->end());
  }
  return hosts;
}

}  // namespace hpcbench
