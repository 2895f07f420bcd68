#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/value.hpp"
#include "spec/keys/keys.hpp"
#include "yaml/diagnostics.hpp"
#include "yaml/yaml_tree.hpp"

namespace hpcbench {

/// `text`, shortened where it is long, in back quotes: how messages cite what a person wrote.
std::string cite(std::string_view text);
/// Names in back quotes, at most a dozen: `a`, `b`, `c` ...
std::string cite_all(const std::vector<std::string>& names);
/// Letters, digits and `_`, not starting with a digit: what axes, parameters and metrics are called.
bool is_identifier(std::string_view name);
/// Whether a name could be mistaken for `gpus_per_node`: the study would run on one gpu throughout.
bool is_near_gpus_per_node(std::string_view name);

// Readers of one node. Absent: the node is not what was asked for, and the diagnostic is made. `what` names it in messages.

std::optional<Value> read_value(const YamlNode& node, const std::string& what, Diagnostics& diagnostics);
std::optional<std::string> read_text(const YamlNode& node, const std::string& what, Diagnostics& diagnostics);
std::optional<bool> read_flag(const YamlNode& node, const std::string& what, Diagnostics& diagnostics);
std::optional<long long> read_integer(const YamlNode& node, const std::string& what, long long least, long long most,
                                      Diagnostics& diagnostics);
std::optional<double> read_number(const YamlNode& node, const std::string& what, Diagnostics& diagnostics);
/// More than 0.
std::optional<double> read_duration(const YamlNode& node, const std::string& what, bool may_be_zero, Diagnostics& diagnostics);
/// `3 %` as 3; absent for what is no number in percent.
std::optional<double> parse_percent(std::string_view text);
/// A list with one text at least.
std::optional<std::vector<std::string>> read_texts(const YamlNode& node, const std::string& what, Diagnostics& diagnostics);
/// A diagnostic where other letters make the unit a known one: `mb/s`.
void check_unit(const SourceLocation& location, const std::string& unit, Diagnostics& diagnostics);
/// Complains unless the node is a list (map) with something in it.
bool expect_list(const YamlNode& node, const std::string& what, Diagnostics& diagnostics);
bool expect_map(const YamlNode& node, const std::string& what, Diagnostics& diagnostics);

/// Takes the keys of a map one by one; `finish` reports those that the section does not have. To take a key that it does not
/// have is a mistake of ours: std::logic_error.
class MapReader {
 public:
  /// `what` is empty for the whole file. What is no map reads as an empty one.
  MapReader(const YamlNode& node, std::string what, const KeySection& section, Diagnostics& diagnostics);

  /// The value of a key; null if the key is not there, or there without a value (then with a diagnostic).
  const YamlNode* take(std::string_view key);
  /// Where a key stands; only for existing keys.
  const SourceLocation& location_of(std::string_view key) const;
  bool has(std::string_view key) const { return node_.index_of(key) != YamlNode::npos; }

  std::optional<std::string> text(std::string_view key);
  /// A text that is not empty.
  std::optional<std::string> filled_text(std::string_view key);
  std::optional<bool> flag(std::string_view key);
  /// Within the bounds that the section has.
  std::optional<long long> integer(std::string_view key);
  std::optional<double> number(std::string_view key);
  std::optional<double> duration(std::string_view key);
  std::optional<std::vector<std::string>> texts(std::string_view key);
  /// The same, and `[]` is an empty list: none, whatever a lower layer says.
  std::optional<std::vector<std::string>> texts_or_none(std::string_view key);

  /// One of the section's words.
  std::optional<std::string> word(std::string_view key);
  /// One of the section's words, each of which stands for a value.
  template <class T>
  std::optional<T> choice(std::string_view key, std::initializer_list<std::pair<std::string_view, T>> words) {
    const YamlNode* node = take(key);
    if (node == nullptr) return std::nullopt;
    for (const auto& [name, value] : words) {
      if (node->is_scalar() && node->text == name) return value;
    }
    refuse_choice(*node, key, words.size());
    return std::nullopt;
  }

  void finish();
  /// `resources.time`
  std::string path(std::string_view key) const;

 private:
  const KeyRow& row_of(std::string_view key) const;
  std::string advice_on_name(std::string_view key) const;
  std::string advice_on(std::string_view key) const;
  void refuse_choice(const YamlNode& node, std::string_view key, std::size_t words);

  const YamlNode& node_;
  std::string what_;
  const KeySection& section_;
  Diagnostics& diagnostics_;
};

/// Sets `target` where there is a value.
template <class Target, class T>
void assign(Target& target, std::optional<T> value) {
  if (value) target = static_cast<T>(*std::move(value));
}

}  // namespace hpcbench
