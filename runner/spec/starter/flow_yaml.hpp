#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hpcbench {

/// A value of an experiment file that is being written: a text, a list, or a map in its order.
struct FlowYaml {
  enum class Kind { text, list, map };

  FlowYaml() = default;
  FlowYaml(const char* word) : text(word) {}             // NOLINT(google-explicit-constructor): data of tables
  FlowYaml(std::string word) : text(std::move(word)) {}  // NOLINT(google-explicit-constructor)
  static FlowYaml list(std::vector<FlowYaml> items);
  static FlowYaml map(const std::vector<std::pair<std::string, FlowYaml>>& members = {});

  /// Of a map: adds a member, or replaces it.
  FlowYaml& set(std::string_view name, FlowYaml value);
  /// Of a map: the value of a member, or null.
  const FlowYaml* find(std::string_view name) const;
  bool is_empty() const { return kind == Kind::text ? text.empty() : items.empty(); }
  /// On one line: `{name: loss, pattern: '(\d+)'}`.
  std::string written() const;

  Kind kind = Kind::text;
  std::string text;
  std::vector<std::string> names;  // of a map: names[i] belongs to items[i]
  std::vector<FlowYaml> items;
};

/// A scalar of YAML that is read as this text, or as the value that it spells: plain where possible.
std::string written_yaml(std::string_view text);

}  // namespace hpcbench
