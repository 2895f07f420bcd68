#include "spec/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "base/text.hpp"
#include "base/units.hpp"

namespace hpcbench {

std::string cite(std::string_view text) {
  constexpr std::size_t kMost = 60;
  if (text.size() <= kMost) return fmt::format("`{}`", text);
  std::size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return fmt::format("`{}...`", text.substr(0, end));
}

std::string cite_all(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 12;
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) out += (i == 0 ? "" : ", ") + cite(names[i]);
  return names.size() > kMost ? out + " ..." : out;
}

bool is_identifier(std::string_view name) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  return !name.empty() && name.size() <= 100 && !(name.front() >= '0' && name.front() <= '9') &&
         name.find_first_not_of(kLetters) == std::string_view::npos;
}

namespace {

/// What a node is, in a word, for messages about wrong types.
std::string kind_word(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::absent:
      return "nothing";
    case YamlNode::Kind::scalar:
      return cite(node.text);
    case YamlNode::Kind::list:
      return "a list";
    case YamlNode::Kind::map:
      return "a map";
  }
  return "";
}

bool looks_like_placeholder(const YamlNode& node) {
  return node.is_map() && node.location.source->text().compare(node.location.offset, 2, "{{") == 0;
}

void refuse_type(const YamlNode& node, const std::string& what, const std::string& wanted, Diagnostics& diagnostics,
                 std::string advice = "") {
  if (looks_like_placeholder(node)) advice = "a placeholder needs quotes, \"{{name}}\": YAML reads `{` as the start of a map";
  if (node.kind == YamlNode::Kind::absent) {
    diagnostics.add(node.location, fmt::format("{} is empty", what),
                    "write a value, or remove it; \"null\" in quotes is a text");
  } else {
    diagnostics.add(node.location, fmt::format("{} must be {}, not {}", what, wanted, kind_word(node)), advice);
  }
}

/// A scalar without quotes in JSON's number form.
std::optional<Value> number_in(const YamlNode& node) {
  if (!node.is_scalar() || node.quoted) return std::nullopt;
  const Value value = Value::from_plain(node.text);
  return value.is_number() ? std::optional(value) : std::nullopt;
}

/// JSON's form of `.5`, `5.` and `+5`, which YAML's numbers may be and JSON's not; empty for all else.
std::string as_number(std::string_view text) {
  std::string number(text);
  if (number.starts_with('+')) number.erase(0, 1);
  const std::size_t first = number.starts_with('-') ? 1 : 0;
  if (number.compare(first, 1, ".") == 0) number.insert(first, "0");
  const std::size_t end = std::min(number.find_first_of("eE"), number.size());
  if (end > 0 && number[end - 1] == '.') number.insert(end, "0");
  return number != text && Value::from_plain(number).is_number() ? number : "";
}

std::string unquote_advice(const YamlNode& node) {
  if (!node.is_scalar()) return "";
  if (const std::string number = as_number(node.text); !number.empty()) return fmt::format("write {}", number);
  return node.quoted && Value::from_plain(node.text).is_number() ? fmt::format("write {} without quotes", node.text) : "";
}

}  // namespace

std::optional<Value> read_value(const YamlNode& node, const std::string& what, Diagnostics& diagnostics) {
  if (!node.is_scalar()) {
    refuse_type(node, what, "a single value", diagnostics);
    return std::nullopt;
  }
  if (const std::string number = node.quoted ? "" : as_number(node.text); !number.empty()) {
    diagnostics.add(node.location, fmt::format("{} is a text here, as no number is written so", cite(node.text)),
                    fmt::format("write {}, or for the text \"{}\"", number, node.text));
    return std::nullopt;
  }
  return node.quoted ? Value::from_text(node.text) : Value::from_plain(node.text);
}

std::optional<std::string> read_text(const YamlNode& node, const std::string& what, Diagnostics& diagnostics) {
  if (!node.is_scalar()) {
    refuse_type(node, what, "a text", diagnostics);
    return std::nullopt;
  }
  if (node.text.find('\0') != std::string::npos) {
    diagnostics.add(node.location, what + " holds a NUL byte, which no program can be given");
    return std::nullopt;
  }
  return node.text;
}

std::optional<bool> read_flag(const YamlNode& node, const std::string& what, Diagnostics& diagnostics) {
  if (node.is_scalar() && !node.quoted && (node.text == "true" || node.text == "false")) return node.text == "true";
  refuse_type(node, what, "true or false", diagnostics, "only the words true and false are booleans");
  return std::nullopt;
}

std::optional<long long> read_integer(const YamlNode& node, const std::string& what, long long least, long long most,
                                      Diagnostics& diagnostics) {
  const std::optional<Value> value = number_in(node);
  const std::optional<long long> number = value ? value->integer() : std::nullopt;
  if (number && *number >= least && *number <= most) return number;
  if (number && *number > most) {
    diagnostics.add(node.location, fmt::format("{} must be at most {}, not {}", what, most, cite(node.text)));
    return std::nullopt;
  }
  const std::string wanted = least == 1 ? "a positive integer" : least == 0 ? "0 or a positive integer" : "an integer";
  refuse_type(node, what, wanted, diagnostics, unquote_advice(node));
  return std::nullopt;
}

std::optional<double> read_number(const YamlNode& node, const std::string& what, Diagnostics& diagnostics) {
  const std::optional<Value> value = number_in(node);
  if (value && std::isfinite(*value->number())) return value->number();
  refuse_type(node, what, "a number", diagnostics, unquote_advice(node));
  return std::nullopt;
}

std::optional<double> read_duration(const YamlNode& node, const std::string& what, bool may_be_zero, Diagnostics& diagnostics) {
  constexpr const char* kForms = "write it as \"02:00:00\", 2h, 90m, 45s, \"1-12:00:00\", or in minutes: 90";
  const std::optional<double> seconds = node.is_scalar() ? parse_duration(node.text) : std::nullopt;
  if (seconds && (*seconds > 0 || (may_be_zero && *seconds == 0)) && *seconds < 1e9) return seconds;
  refuse_type(node, what, may_be_zero ? "a time or 0" : "a time above 0", diagnostics, kForms);
  return std::nullopt;
}

std::optional<double> parse_percent(std::string_view text) {
  text = trim(text);
  if (!text.ends_with('%')) return std::nullopt;
  text = trim(text.substr(0, text.size() - 1));
  if (text.starts_with('+')) text.remove_prefix(1);
  return Value::from_plain(text).number();
}

std::optional<std::vector<std::string>> read_texts(const YamlNode& node, const std::string& what, Diagnostics& diagnostics) {
  if (!expect_list(node, what, diagnostics)) return std::nullopt;
  std::vector<std::string> texts;
  bool good = true;
  for (const YamlNode& item : node.items) {
    const std::optional<std::string> text = read_text(item, "an entry of " + what, diagnostics);
    if (text) texts.push_back(*text);
    good = good && text;
  }
  return good ? std::optional(texts) : std::nullopt;
}

void check_unit(const SourceLocation& location, const std::string& unit, Diagnostics& diagnostics) {
  const std::string other = other_spelling_of_unit(unit);
  if (!other.empty())
    diagnostics.add(location, fmt::format("{} is no unit that hpcbench knows", cite(unit)), "did you mean " + other + "?");
}

bool expect_list(const YamlNode& node, const std::string& what, Diagnostics& diagnostics) {
  if (!node.is_list()) {
    constexpr std::size_t kMostWritten = 60;
    std::string advice = "put each entry behind `- `, or all in brackets";
    if (node.is_scalar() && node.text.size() < kMostWritten && node.text.find('\n') == std::string::npos)
      advice = fmt::format("write [{}]", node.text);
    refuse_type(node, what, "a list", diagnostics, advice);
    return false;
  }
  if (node.items.empty()) diagnostics.add(node.location, what + " is an empty list", "remove it, or say what it holds");
  return !node.items.empty();
}

bool expect_map(const YamlNode& node, const std::string& what, Diagnostics& diagnostics) {
  if (!node.is_map()) {
    refuse_type(node, what, "a map (`name: value`)", diagnostics);
    return false;
  }
  if (node.items.empty()) diagnostics.add(node.location, what + " is empty", "remove it, or say what it holds");
  return !node.items.empty();
}

MapReader::MapReader(const YamlNode& node, std::string what, const KeySection& section, Diagnostics& diagnostics)
    : node_(node), what_(std::move(what)), section_(section), diagnostics_(diagnostics) {
  if (!node.is_map()) refuse_type(node, what_.empty() ? "an experiment" : cite(what_), "a map (`name: value`)", diagnostics);
}

const KeyRow& MapReader::row_of(std::string_view key) const {
  const KeyRow* row = section_.find(key);
  if (row == nullptr) throw std::logic_error(fmt::format("the keys of `{}` lack `{}`", section_.name, key));
  return *row;
}

const YamlNode* MapReader::take(std::string_view key) {
  row_of(key);
  const std::size_t index = node_.index_of(key);
  if (index == YamlNode::npos) return nullptr;
  if (node_.items[index].kind == YamlNode::Kind::absent) {
    diagnostics_.add(node_.keys[index].location, fmt::format("`{}` needs a value", path(key)),
                     "write a value, or remove the key");
    return nullptr;
  }
  return &node_.items[index];
}

const SourceLocation& MapReader::location_of(std::string_view key) const { return node_.keys[node_.index_of(key)].location; }

std::string MapReader::path(std::string_view key) const {
  return what_.empty() ? std::string(key) : fmt::format("{}.{}", what_, key);
}

std::optional<std::string> MapReader::text(std::string_view key) {
  const YamlNode* node = take(key);
  return node == nullptr ? std::nullopt : read_text(*node, cite(path(key)), diagnostics_);
}

std::optional<std::string> MapReader::filled_text(std::string_view key) {
  std::optional<std::string> read = text(key);
  if (!read || !trim(*read).empty()) return read;
  diagnostics_.add(node_.find(key)->location, fmt::format("`{}` is an empty text", path(key)));
  return std::nullopt;
}

std::optional<bool> MapReader::flag(std::string_view key) {
  const YamlNode* node = take(key);
  return node == nullptr ? std::nullopt : read_flag(*node, cite(path(key)), diagnostics_);
}

std::optional<long long> MapReader::integer(std::string_view key) {
  const YamlNode* node = take(key);
  const KeyRow& row = row_of(key);
  return node == nullptr ? std::nullopt : read_integer(*node, cite(path(key)), row.least, row.most, diagnostics_);
}

std::optional<double> MapReader::number(std::string_view key) {
  const YamlNode* node = take(key);
  return node == nullptr ? std::nullopt : read_number(*node, cite(path(key)), diagnostics_);
}

std::optional<double> MapReader::duration(std::string_view key) {
  const YamlNode* node = take(key);
  return node == nullptr ? std::nullopt
                         : read_duration(*node, cite(path(key)), row_of(key).kind == KeyKind::duration_or_0, diagnostics_);
}

std::optional<std::vector<std::string>> MapReader::texts(std::string_view key) {
  const YamlNode* node = take(key);
  return node == nullptr ? std::nullopt : read_texts(*node, cite(path(key)), diagnostics_);
}

std::optional<std::vector<std::string>> MapReader::texts_or_none(std::string_view key) {
  const YamlNode* node = take(key);
  if (node == nullptr) return std::nullopt;
  if (node->is_list() && node->items.empty()) return std::vector<std::string>();
  return read_texts(*node, cite(path(key)), diagnostics_);
}

std::optional<std::string> MapReader::word(std::string_view key) {
  const YamlNode* const node = take(key);
  if (node == nullptr) return std::nullopt;
  const std::vector<std::string>& words = row_of(key).words;
  if (node->is_scalar() && std::find(words.begin(), words.end(), node->text) != words.end()) return node->text;
  refuse_choice(*node, key, words.size());
  return std::nullopt;
}

void MapReader::refuse_choice(const YamlNode& node, std::string_view key, std::size_t words) {
  const std::vector<std::string>& names = row_of(key).words;
  if (words != names.size()) throw std::logic_error(fmt::format("`{}` has other words than its reader", path(key)));
  const std::string near = node.is_scalar() ? did_you_mean(node.text, names) : "";
  diagnostics_.add(node.location, fmt::format("`{}` cannot be {}{}", path(key), kind_word(node), near),
                   "it is one of " + cite_all(names));
}

/// What to write where a key of the file is the name of one of its axes or parameters; empty if it is none.
std::string MapReader::advice_on_name(std::string_view key) const {
  for (const char* const map : {"matrix", "parameters"}) {
    const YamlNode* const names = node_.find(map);
    if (names == nullptr || !names->is_map() || names->index_of(key) == YamlNode::npos) continue;
    const YamlNode& value = node_.items[node_.index_of(key)];
    const bool is_axis = std::string_view(map) == "matrix";
    const std::string path = fmt::format("{}.{}", map, key);
    const std::string kind = is_axis ? "an axis" : "a parameter";
    if (value.location.source->name() != "--set") return fmt::format("it is {}: write {}", kind, path);
    const std::string& text = value.location.source->text();
    std::string said = text.substr(text.find('=') + 1);
    if (is_axis && !said.starts_with('[') && !said.starts_with('{')) said = '[' + said + ']';
    return fmt::format("it is {}: --set '{}={}'", kind, path, said);
  }
  return "";
}

/// Where a key that is not known here would be: in maps of this one, or as an axis.
std::string MapReader::advice_on(std::string_view key) const {
  if (&section_ == &experiment_keys()) {
    if (std::string advice = advice_on_name(key); !advice.empty()) return advice;
  }
  if (key == "<<") return "merge keys are not taken: write the values out";
  constexpr std::array<std::string_view, 4> kAxes = {"nodes", "gpus_per_node", "ranks_per_node", "gpus"};
  const bool may_be_axis = &section_ == &experiment_keys() || &section_ == &resources_keys();
  if (may_be_axis && std::find(kAxes.begin(), kAxes.end(), key) != kAxes.end())
    return fmt::format("it is an axis: matrix: {{{}: [1, 2]}}", key == "gpus" ? "gpus_per_node" : key);
  std::vector<std::string> maps;
  for (const KeyRow& row : section_.keys) {
    if (row.kind == KeyKind::map && row.section().find(key) != nullptr) maps.push_back(cite(row.name));
  }
  return maps.empty() ? "" : "it belongs in " + join(maps, " or ");
}

void MapReader::finish() {
  std::vector<std::string> known;
  for (const KeyRow& row : section_.keys) {
    if (row.kind != KeyKind::refused) known.emplace_back(row.name);
  }
  for (const YamlKey& key : node_.keys) {
    if (diagnostics_.full()) return;
    if (section_.find(key.name) != nullptr) continue;
    const std::string inside = what_.empty() ? "" : fmt::format(" in `{}`", what_);
    std::string advice = advice_on(key.name);
    const std::string near = did_you_mean(key.name, known);
    std::vector<std::string> sorted = known;
    std::sort(sorted.begin(), sorted.end());
    if (advice.empty() && near.empty() && sorted.size() <= 12) advice = "known here: " + cite_all(sorted);
    diagnostics_.add(key.location, fmt::format("unknown key {}{}{}", cite(key.name), inside, near), advice);
  }
}

}  // namespace hpcbench
