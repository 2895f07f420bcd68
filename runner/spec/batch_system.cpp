#include "spec/batch_system.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "base/text.hpp"
#include "spec/fields.hpp"
#include "spec/placeholders.hpp"

namespace hpcbench {

namespace {

/// Complains of placeholders that are not among `known`. Returns those that the texts have.
std::vector<std::string> check_known(const YamlNode& map, const char* key, const std::vector<std::string>& texts,
                                     const std::vector<std::string>& known, Diagnostics& diagnostics) {
  std::vector<std::string> found;
  const YamlNode* const node = map.find(key);
  if (node == nullptr) return found;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const YamlNode& item = node->items.size() == texts.size() ? node->items[i] : *node;
    for (const Placeholder& placeholder : find_placeholders(texts[i])) {
      found.push_back(placeholder.name);
      if (!placeholder.spread && std::find(known.begin(), known.end(), placeholder.name) != known.end()) continue;
      diagnostics.add(
          location_of_placeholder(item, texts[i], placeholder),
          fmt::format("`commands.{}` has no {{{{{}}}}}{}", key, placeholder.name, did_you_mean(placeholder.name, known)),
          "it may have " + cite_all(known));
    }
  }
  return found;
}

void require_name(const YamlNode& map, const char* key, const std::vector<std::string>& found, const char* name,
                  const char* why, Diagnostics& diagnostics) {
  const YamlNode* const node = map.find(key);
  if (node == nullptr || std::find(found.begin(), found.end(), name) != found.end()) return;
  diagnostics.add(node->location, fmt::format("`commands.{}` must have {{{{{}}}}}: {}", key, name, why));
}

/// Complains of a pattern that RE2 refuses, or that has no such group.
void check_pattern(const YamlNode& map, const char* key, const std::string& pattern, const std::vector<std::string>& groups,
                   Diagnostics& diagnostics) {
  const YamlNode* const node = map.find(key);
  if (node == nullptr || pattern.empty()) return;
  const RE2 compiled(pattern, RE2::Quiet);
  if (!compiled.ok()) {
    diagnostics.add(node->location, fmt::format("`commands.{}` is no regular expression: {}", key, compiled.error()));
    return;
  }
  for (const std::string& group : groups) {
    if (compiled.NamedCapturingGroups().count(group) != 0) continue;
    diagnostics.add(node->location, fmt::format("`commands.{}` has no group `{}`", key, group),
                    fmt::format("mark where it stands: (?P<{}>...)", group));
  }
  if (groups.empty() && std::string_view(key) == "id" && compiled.NumberOfCapturingGroups() == 0)
    diagnostics.add(node->location, "`commands.id` has no group", "put parentheses around the id: '([0-9]+)'");
}

/// `[[` and `]]` enclose parts of a line, which do not nest.
void check_brackets(const YamlNode& map, const BatchSystem& system, Diagnostics& diagnostics) {
  for (const std::string& line : system.directives) {
    bool is_open = false, is_well = true;
    for (std::size_t at = 0; at + 1 < line.size(); ++at) {
      const std::string_view two = std::string_view(line).substr(at, 2);
      if (two != "[[" && two != "]]") continue;
      is_well = is_well && is_open == (two == "]]");
      is_open = two == "[[";
      ++at;
    }
    if (is_well && !is_open) continue;
    diagnostics.add(map.find("directives")->location,
                    fmt::format("`[[` and `]]` do not match in the line {} of `commands.directives`", cite(line)),
                    "write [[:mem={{mem}}]]: the part is left out where mem has no value");
  }
}

/// A state in two lists would have two meanings.
void check_states(const YamlNode& map, const BatchSystem& system, Diagnostics& diagnostics) {
  std::vector<std::string> seen;
  for (const auto& [key, states] : {std::pair{"waiting", &system.waiting}, std::pair{"running", &system.running},
                                    std::pair{"stuck", &system.stuck}, std::pair{"ended", &system.ended}}) {
    for (const std::string& state : *states) {
      if (std::find(seen.begin(), seen.end(), state) != seen.end() && map.find(key) != nullptr)
        diagnostics.add(map.find(key)->location, fmt::format("the state {} is listed twice", cite(state)));
      seen.push_back(state);
    }
  }
}

template <class T>
void take(MapReader& reader, T& target, std::optional<T> value, const YamlNode& node, const char* key,
          Diagnostics& diagnostics) {
  if (value) {
    target = *std::move(value);
  } else if (!reader.has(key)) {
    diagnostics.add(node.location, fmt::format("`commands.{}` is missing", key), "docs/other-schedulers.md describes each key");
  }
}

}  // namespace

const std::vector<std::string>& directive_names() {
  static const std::vector<std::string> kNames = {
      "name",           "log",        "time",          "time_s",        "time_min", "nodes",     "ranks",
      "ranks_per_node", "gpus",       "gpus_per_node", "cpus_per_task", "cpus",     "cpus_node", "mem",
      "gres",           "constraint", "exclusive",     "partition",     "account",  "qos",       "reservation"};
  return kNames;
}

BatchSystem read_batch_system(const YamlNode& node, Diagnostics& diagnostics) {
  BatchSystem system;
  MapReader reader(node, "commands", batch_system_keys(), diagnostics);
  take(reader, system.name, reader.filled_text("name"), node, "name", diagnostics);
  take(reader, system.submit, reader.texts("submit"), node, "submit", diagnostics);
  take(reader, system.id, reader.filled_text("id"), node, "id", diagnostics);
  system.later = reader.filled_text("later");
  take(reader, system.list, reader.texts("list"), node, "list", diagnostics);
  take(reader, system.job, reader.filled_text("job"), node, "job", diagnostics);
  system.empty = reader.filled_text("empty");
  take(reader, system.waiting, reader.texts("waiting"), node, "waiting", diagnostics);
  take(reader, system.running, reader.texts("running"), node, "running", diagnostics);
  assign(system.stuck, reader.texts_or_none("stuck"));
  assign(system.ended, reader.texts_or_none("ended"));
  take(reader, system.cancel, reader.texts("cancel"), node, "cancel", diagnostics);
  take(reader, system.directives, reader.texts("directives"), node, "directives", diagnostics);
  system.job_variable = reader.filled_text("job_variable");
  if (system.job_variable && !is_identifier(*system.job_variable)) {
    diagnostics.add(node.find("job_variable")->location,
                    fmt::format("`commands.job_variable` is {}, which is no name of a variable", cite(*system.job_variable)));
  }
  reader.finish();
  if (!node.is_map()) return system;
  const auto submit = check_known(node, "submit", system.submit, {"script", "name", "log"}, diagnostics);
  require_name(node, "submit", submit, "script", "it is the job", diagnostics);
  check_known(node, "list", system.list, {"user"}, diagnostics);
  require_name(node, "cancel", check_known(node, "cancel", system.cancel, {"ids"}, diagnostics), "ids",
               "they name the jobs to end", diagnostics);
  const auto lines = check_known(node, "directives", system.directives, directive_names(), diagnostics);
  if (std::find(submit.begin(), submit.end(), "name") == submit.end())
    require_name(node, "directives", lines, "name", "hpcbench finds a job by its name after a crash", diagnostics);
  check_pattern(node, "id", system.id, {}, diagnostics);
  check_pattern(node, "later", system.later.value_or(""), {}, diagnostics);
  check_pattern(node, "empty", system.empty.value_or(""), {}, diagnostics);
  check_pattern(node, "job", system.job, {"id", "name", "state"}, diagnostics);
  check_states(node, system, diagnostics);
  check_brackets(node, system, diagnostics);
  return system;
}

}  // namespace hpcbench
