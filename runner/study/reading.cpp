#include "study/reading.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "plan/formula_names.hpp"

namespace hpcbench {

namespace {

ReadingRules rules_of_work(const Work& work, const std::vector<Derived>& derive) {
  FormulaNames names = formula_names(work, derive);
  std::vector<std::string> require;
  for (const LocatedExpression& each : work.success.require) require.push_back(each.expression().text());
  return {work.metrics,
          work.success.exit_code,
          work.success.pattern,
          std::move(require),
          {std::move(names.parameters), std::move(names.derived)}};
}

/// The hash that most of them have.
std::string most_frequent(const std::map<std::string, std::size_t>& counts) {
  std::string usual;
  std::size_t most = 0;
  for (const auto& [hash, count] : counts) {
    if (count <= most) continue;
    usual = hash;
    most = count;
  }
  return usual;
}

/// The rules that a hash stands for are taken along from where they were.
void take_rules(const Reading& from, const std::string& hash, Reading& into) {
  if (const auto rules = from.rules.find(hash); rules != from.rules.end()) into.rules.insert(*rules);
}

}  // namespace

Reading reading_of_today(const Study& study, const Reading& before, const std::vector<AttemptKey>& keys) {
  Reading today;
  std::map<const Work*, std::string> hashes;  // configurations of equal work share it
  std::map<std::string, std::size_t> counts;
  for (const Configuration& configuration : study.plan.configurations) {
    std::string& hash = hashes[configuration.work.get()];
    if (hash.empty()) {
      ReadingRules rules = rules_of_work(*configuration.work, study.experiment.derive);
      hash = rules_hash(rules);
      today.rules.emplace(hash, std::move(rules));
    }
    ++counts[hash];
  }
  today.usual = most_frequent(counts);
  if (today.rules.size() > 1) {
    for (const Configuration& configuration : study.plan.configurations) {
      const std::string& hash = hashes[configuration.work.get()];
      if (hash != today.usual) today.others[configuration.id] = hash;
    }
  }
  const std::string* last = nullptr;
  for (const AttemptKey& key : keys) {
    if (key.run.is_imported() || (last != nullptr && *last == key.config_id)) continue;
    last = &key.config_id;
    const std::string& hash = before.hash_of(key.config_id);
    if (hash == today.usual || study.plan.find(key.config_id)) continue;
    today.others[key.config_id] = hash;
    take_rules(before, hash, today);
  }
  return today;
}

void keep_reading(const std::string& results, const Reading& reading) {
  std::error_code error;
  if (!std::filesystem::is_directory(results, error)) return;
  const std::string path = results + '/' + kReadingFile;
  const std::string text = reading_json(reading);
  try {
    if (read_file_if_there(path) != text) write_file(path, text, Durability::durable);
  } catch (const UnavailableError&) {
    return;  // somebody else's folder, or a full disk: what is read now is shown, and kept by nobody
  }
}

std::string what_changed(const ReadingRules* old, const ReadingRules& now) {
  if (old == nullptr) return "the file's metrics or `success` changed, or this version of hpcbench reads them in another way";
  const auto rules_of_metrics = [](const ReadingRules& rules) {
    return rules_json({rules.metrics, 0, {}, {}, rules.formula_names});
  };
  const auto rules_of_success = [](const ReadingRules& rules) {
    return rules_json({{}, rules.success_exit_code, rules.success_pattern, rules.success_require, {}});
  };
  const bool metrics = rules_of_metrics(*old) != rules_of_metrics(now);
  const bool success = rules_of_success(*old) != rules_of_success(now);
  if (metrics && success) return "the file's metrics and `success` changed";
  if (success) return "the file's `success` changed";
  return metrics ? "the file's metrics changed" : "this version of hpcbench reads them in another way";
}

std::string changed_outcomes(const std::vector<AttemptState>& before, const std::vector<AttemptState>& after) {
  std::map<std::pair<State, State>, long long> counts;
  auto now = after.begin();
  for (const AttemptState& then : before) {
    while (now != after.end() && now->key < then.key) ++now;
    if (now == after.end() || now->key != then.key || now->state == then.state || !is_outcome(then.state)) continue;
    if (!then.is_void && !then.key.run.is_warmup()) ++counts[{then.state, now->state}];
  }
  std::vector<std::string> texts;
  for (const auto& [states, count] : counts)
    texts.push_back(fmt::format("{} {} -> {}", count, to_string(states.first), to_string(states.second)));
  return join(texts, ", ");
}

}  // namespace hpcbench
