#include "training/agreement.hpp"

#include <map>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"

namespace hpcbench::train {

namespace {

using NamedValues = std::map<std::string, std::string>;

std::string value_of(const NamedValues& settings, const std::string& name) {
  const auto found = settings.find(name);
  return found == settings.end() ? "not set" : found->second;
}

}  // namespace

std::string shared_settings(const Settings& settings, std::int64_t train_samples) {
  NamedValues values = deciding_settings(settings);
  values["training samples"] = std::to_string(train_samples);
  return nlohmann::json(values).dump();
}

void refuse_different_settings(const std::vector<std::string>& ranks) {
  NamedValues differences;
  const NamedValues first = nlohmann::json::parse(ranks.at(0));
  for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
    if (ranks[rank] == ranks[0]) continue;
    const NamedValues other = nlohmann::json::parse(ranks[rank]);
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
  throw SharedInputError(concat("error: the ranks are not of one training: ", join(told, ", "),
                                ": start all by the same command, with the same data"));
}

}  // namespace hpcbench::train
