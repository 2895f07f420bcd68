#include "training/agreement.hpp"

#include <map>
#include <sstream>
#include <variant>

#include "base/error.hpp"
#include "base/text.hpp"

namespace hpcbench::train {

namespace {

constexpr const char* kIs = " = ";

std::map<std::string, std::string> parse_settings(const std::string& text) {
  std::map<std::string, std::string> settings;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t is = line.find(kIs);
    if (is != std::string::npos) settings[line.substr(0, is)] = line.substr(is + std::string_view(kIs).size());
  }
  return settings;
}

std::string value_of(const std::map<std::string, std::string>& settings, const std::string& name) {
  const auto found = settings.find(name);
  return found == settings.end() ? "not set" : found->second;
}

}  // namespace

std::string shared_settings(const Settings& settings, std::int64_t train_samples) {
  std::string text;
  for (const SettingRow& row : setting_rows()) {
    if (!row.decides || row.is_path || (!row.task.empty() && row.task != settings.task)) continue;
    const SettingValue value = row.get(settings);
    if (!std::holds_alternative<std::monostate>(value)) text += concat(row.name, kIs, setting_text(value), '\n');
  }
  return text + concat("training samples", kIs, train_samples, '\n');
}

void refuse_different_settings(const std::vector<std::string>& ranks) {
  std::map<std::string, std::string> differences;
  const auto first = parse_settings(ranks.at(0));
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    if (ranks[rank] == ranks[0]) continue;
    const auto other = parse_settings(ranks[rank]);
    for (const auto* names : {&first, &other}) {
      for (const auto& [name, value] : *names) {
        const std::string here = value_of(first, name);
        const std::string there = value_of(other, name);
        if (here != there) differences.emplace(name, concat(name, " (", here, " on rank 0, ", there, " on rank ", rank, ')'));
      }
    }
  }
  if (differences.empty()) return;
  std::vector<std::string> told;
  for (const auto& [name, text] : differences) told.push_back(text);
  throw InputError(concat("error: the ranks are not of one training: ", join(told, ", "),
                          ": start all by the same command, with the same data"));
}

}  // namespace hpcbench::train
