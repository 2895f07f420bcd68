#include "recognise/path_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "base/glob.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

/// A path as parts with what stands behind each.
struct Parts {
  std::vector<std::string> words;
  std::vector<std::string> gaps;  // gaps[i] stands behind words[i]
};

/// The minus of `1e-4` and of `lr-0.1` belongs to the number; a point before a letter begins an ending.
bool is_gap(const std::string& path, std::size_t at) {
  const char c = path[at];
  if (c == '_' || c == ',' || c == '/' || c == ' ' || c == '+') return true;
  if (c == '.') return at + 1 < path.size() && is_letter(path[at + 1]);
  if (c != '-') return false;
  const bool is_exponent = at >= 2 && (path[at - 1] == 'e' || path[at - 1] == 'E') && is_digit(path[at - 2]) &&
                           at + 1 < path.size() && is_digit(path[at + 1]);
  return !is_exponent;
}

Parts parts_of(const std::string& path) {
  Parts parts;
  parts.words.emplace_back();
  for (std::size_t at = 0; at < path.size(); ++at) {
    if (is_gap(path, at)) {
      parts.gaps.emplace_back(1, path[at]);
      parts.words.emplace_back();
    } else {
      parts.words.back() += path[at];
    }
  }
  parts.gaps.emplace_back();
  return parts;
}

/// The letters that stand before the value in all words: `bs` of bs16 and bs64, `lr=` of lr=0.1.
std::string common_label(const std::vector<std::string>& words) {
  const std::string& first = words.front();
  if (const std::size_t equals = first.find('='); equals != std::string::npos) {
    const std::string label = first.substr(0, equals + 1);
    return std::all_of(words.begin(), words.end(), [&](const auto& word) { return word.starts_with(label); }) ? label : "";
  }
  std::size_t end = 0;
  while (end < first.size() && is_letter(first[end])) ++end;
  const std::string label = first.substr(0, end);
  const auto has_it = [&](const std::string& word) {
    return word.size() > end && word.starts_with(label) && is_digit(word[end]);
  };
  return end > 0 && std::all_of(words.begin(), words.end(), has_it) ? label : "";
}

bool is_number(const std::string& word) { return !word.empty() && is_digit(word.front()); }

bool is_time_stamp(const std::vector<std::string>& words) {
  return std::all_of(words.begin(), words.end(), [](const std::string& word) {
    return word.size() >= 6 && std::all_of(word.begin(), word.end(), is_digit);
  });
}

/// Parts that number the repeats of a configuration.
std::string name_of_label(const std::string& label) {
  static const std::set<std::string> kRepeats = {"seed", "s",      "rep",       "r",   "repeat",    "repetition", "trial",
                                                 "run",  "result", "replicate", "try", "iteration", "version"};
  const std::string plain = lower_case(label);
  return kRepeats.contains(plain) ? "repeat" : label;
}

/// Builds pattern and columns of paths with equally many parts.
PathNames names_of(const std::vector<std::string>& paths) {
  PathNames found;
  found.paths = paths;
  std::vector<Parts> all;
  for (const std::string& path : paths) all.push_back(parts_of(path));
  std::vector<std::string> used;
  std::string before;  // the word before, if it is the same everywhere
  for (std::size_t i = 0; i < all.front().words.size(); ++i) {
    std::vector<std::string> words;
    for (const Parts& parts : all) words.push_back(parts.words[i]);
    const std::string& gap = all.front().gaps[i];
    if (std::set<std::string>(words.begin(), words.end()).size() == 1) {
      found.pattern += glob_escaped(words.front() + gap);
      before = words.front();
      continue;
    }
    const std::string label = common_label(words);
    std::vector<std::string> values;
    for (const std::string& word : words) values.push_back(word.substr(label.size()));
    std::string name = label.ends_with('=') ? label.substr(0, label.size() - 1) : label;
    const bool is_by_word =
        name.empty() && !before.empty() && is_letter(before.back()) && std::all_of(values.begin(), values.end(), is_number);
    if (is_by_word) name = before;
    if (is_time_stamp(values)) name = "run";
    name = name.empty() ? "variant" : name == "run" && is_time_stamp(values) ? name : name_of_label(name);
    std::string unique = name;
    for (int count = 2; std::find(used.begin(), used.end(), unique) != used.end(); ++count)
      unique = fmt::format("{}_{}", name, count);
    used.push_back(unique);
    std::string plain;
    for (const char c : unique) plain += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    if (is_digit(plain.front())) plain = "x_" + plain;
    found.pattern += glob_escaped(label) + '{' + plain + '}' + glob_escaped(gap);
    found.columns.push_back({ToolColumn::Role::parameter, plain, {}, values, ""});
    before.clear();
  }
  return found;
}

/// Keeps the largest group, and notes the others.
template <class Key>
std::vector<std::string> largest_group(const std::map<Key, std::vector<std::string>>& groups,
                                       std::vector<std::string>& left_out) {
  const auto most = std::max_element(groups.begin(), groups.end(),
                                     [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  for (const auto& group : groups) {
    if (group.first != most->first) {
      left_out.push_back(fmt::format("{} of another form, such as {}",
                                     counted(static_cast<long long>(group.second.size()), "path", "paths"),
                                     group.second.front()));
    }
  }
  return most->second;
}

}  // namespace

PathNames find_path_names(const std::vector<std::string>& paths) {
  std::map<std::vector<std::string>, std::vector<std::string>> by_form;
  for (const std::string& path : paths) by_form[parts_of(path).gaps].push_back(path);
  if (by_form.empty()) return {};
  std::vector<std::string> left_out;
  PathNames found = names_of(largest_group(by_form, left_out));
  found.left_out = std::move(left_out);
  return found;
}

PathNames find_run_folders(const std::vector<std::string>& folders) {
  std::map<std::size_t, std::vector<std::string>> by_depth;
  for (const std::string& folder : folders) by_depth[split(folder, '/').size()].push_back(folder);
  if (by_depth.empty()) return {};
  PathNames found;
  found.paths = largest_group(by_depth, found.left_out);
  const std::vector<std::string> first = split(found.paths.front(), '/');
  for (std::size_t i = 0; i < first.size(); ++i) {
    const bool is_same =
        std::all_of(found.paths.begin(), found.paths.end(), [&](const auto& path) { return split(path, '/')[i] == first[i]; });
    const std::string part = i + 1 == first.size() ? "{run}" : is_same ? glob_escaped(first[i]) : "*";
    found.pattern += (i == 0 ? "" : "/") + part;
  }
  return found;
}

}  // namespace hpcbench
