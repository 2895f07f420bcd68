#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "base/text.hpp"
#include "spec/fields.hpp"
#include "spec/parsed_experiment.hpp"
#include "spec/read_experiment.hpp"

namespace hpcbench {

std::vector<const ParsedAxis*> ParsedExperiment::product_axes() const {
  std::vector<const ParsedAxis*> axes;
  for (const ParsedAxis& axis : matrix) axes.push_back(&axis);
  for (const std::vector<ParsedAxis>& block : zip) {
    for (const ParsedAxis& axis : block) axes.push_back(&axis);
  }
  return axes;
}

std::vector<std::string> ParsedExperiment::axis_names() const {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const ParsedAxis* axis : product_axes()) add(axis->axis.name);
  if (names.empty() && !include.empty()) {
    for (const auto& [name, value] : include.front().point) add(name);
  }
  add("nodes");
  add("gpus_per_node");
  return names;
}

bool is_near_gpus_per_node(std::string_view name) {
  return name.size() >= 10 && name != "gpus_per_node" && nearest(name, {"gpus_per_node"});
}

bool check_name(const YamlKey& key, const std::string& what, Diagnostics& diagnostics) {
  if (!is_identifier(key.name)) {
    diagnostics.add(key.location, fmt::format("{} cannot be the name of {}", cite(key.name), what),
                    "a name has letters, digits and _, and does not start with a digit");
    return false;
  }
  if (is_near_gpus_per_node(key.name)) {
    diagnostics.add(
        key.location,
        fmt::format("{} is not the name of an axis that hpcbench knows (did you mean `gpus_per_node`?)", cite(key.name)),
        "gpus_per_node says how many gpus a run has; choose a name that cannot be mistaken for it");
    return false;
  }
  for (const char* const own : {"gpus", "run_dir", "repeat", "seed"}) {
    if (key.name != own) continue;
    const std::string advice = key.name == "seed"   ? "say it as `seed: {policy: fixed, value: 1}`"
                               : key.name == "gpus" ? "it is nodes x gpus_per_node"
                                                    : "choose another name";
    diagnostics.add(key.location, fmt::format("`{}` is a name that hpcbench gives a value itself", key.name), advice);
    return false;
  }
  return true;
}

namespace {

constexpr long long kMostNodes = 100'000;
constexpr long long kMostGpusPerNode = 1'000;
constexpr long long kMostRanksPerNode = 10'000;

/// A single value, or a list of arguments.
std::optional<Value> read_axis_value(const YamlNode& node, const std::string& what, Diagnostics& diagnostics) {
  if (!node.is_list()) return read_value(node, what, diagnostics);
  std::vector<std::string> words;
  bool good = true;
  for (const YamlNode& item : node.items) {
    std::optional<std::string> word = read_text(item, "an argument in " + what, diagnostics);
    good = good && word;
    if (word) words.push_back(*std::move(word));
  }
  return good ? std::optional(Value::from_list(std::move(words))) : std::nullopt;
}

/// What only values of some axes must be.
bool check_axis_value(const std::string& axis, const YamlNode& node, Diagnostics& diagnostics) {
  if (axis == "nodes") return read_integer(node, "`nodes`", 1, kMostNodes, diagnostics).has_value();
  if (axis == kRanksPerNode) return read_integer(node, "`ranks_per_node`", 1, kMostRanksPerNode, diagnostics).has_value();
  if (axis == "gpus_per_node" && node.is_scalar() && !node.quoted && node.text == "0") return true;  // check_ranks asks further
  if (axis == "gpus_per_node") return read_integer(node, "`gpus_per_node`", 1, kMostGpusPerNode, diagnostics).has_value();
  return true;
}

/// GitHub's matrix holds `include` and `exclude`; here they stand beside it.
bool refuse_key_as_axis(const YamlKey& key, const YamlNode& node, Diagnostics& diagnostics) {
  if (key.name != "include" && key.name != "exclude" && key.name != "zip") return false;
  if (!node.is_list() || node.items.empty() || !node.items.front().is_map()) return false;
  diagnostics.add(key.location, fmt::format("{} is no axis: it stands beside `matrix`, not in it", cite(key.name)),
                  key.name == "include" ? "indent it as `matrix`; each point of it names every axis" : "indent it as `matrix`");
  return true;
}

/// Sets `parsed.node` to the list that the axis has, or that its range stands for; false after a diagnostic.
bool use_list(ParsedAxis& parsed, const YamlKey& key, const YamlNode& node, Diagnostics& diagnostics) {
  if (node.is_map()) {
    std::optional<YamlNode> list = written_out(key, node, diagnostics);
    if (!list) return false;
    parsed.written_out = std::make_shared<const YamlNode>(*std::move(list));
    parsed.node = parsed.written_out.get();
    return true;
  }
  if (refuse_other_range(key, node, true, diagnostics)) return false;
  if (node.is_scalar() && node.location.source->name() == "--set") {
    diagnostics.add(node.location, fmt::format("the axis {} must be a list, not {}", cite(key.name), cite(node.text)),
                    fmt::format("write --set 'matrix.{}=[{}]'", key.name, node.text));
    return false;
  }
  return expect_list(node, fmt::format("the axis {}", cite(key.name)), diagnostics);
}

/// `[1, "2"]` has a number and a text: no plot or fit could order them.
bool check_kinds(const ParsedAxis& axis, Diagnostics& diagnostics) {
  const std::vector<Value>& values = axis.axis.values;
  if (std::none_of(values.begin(), values.end(), [](const Value& value) { return value.is_number(); })) return true;
  for (const YamlNode& item : axis.node->items) {
    if (!item.is_scalar() || !item.quoted || !Value::from_plain(item.text).is_number()) continue;
    diagnostics.add(
        item.location,
        fmt::format("{} is a text, beside numbers of the axis {}", cite('"' + item.text + '"'), cite(axis.axis.name)),
        fmt::format("write {} without quotes, or all values with quotes", item.text));
    return false;
  }
  return true;
}

ParsedAxis read_axis(const YamlKey& key, const YamlNode& node, bool distinct, Diagnostics& diagnostics) {
  ParsedAxis parsed;
  parsed.axis.name = key.name;
  parsed.name_location = key.location;
  parsed.node = &node;
  bool good = check_name(key, "an axis", diagnostics);
  if (node.kind == YamlNode::Kind::absent) {
    diagnostics.add(key.location, fmt::format("the axis {} has no values", cite(key.name)),
                    fmt::format("write {}: [1, 2]", key.name));
    return parsed;
  }
  if (refuse_key_as_axis(key, node, diagnostics) || !use_list(parsed, key, node, diagnostics)) return parsed;
  std::unordered_map<std::string_view, const YamlNode*> seen;
  for (const YamlNode& item : parsed.node->items) {
    if (diagnostics.full()) return parsed;
    if (refuse_other_range(key, item, node.items.size() == 1, diagnostics)) {
      parsed.axis.values.clear();
      return parsed;
    }
    const std::optional<Value> value = read_axis_value(item, fmt::format("a value of {}", cite(key.name)), diagnostics);
    good = value && check_axis_value(key.name, item, diagnostics) && good;
    if (!value) continue;
    parsed.axis.values.push_back(*value);
    const auto [first, is_new] = seen.emplace(parsed.axis.values.back().canonical(), &item);
    if (is_new || !distinct) continue;
    const bool same = !value->is_number() || first->second->text == item.text;
    diagnostics.add(item.location, fmt::format("{} has the value {} twice", cite(key.name), cite(value->text())),
                    same ? "remove one of them" : fmt::format("{} is the same number", cite(first->second->text)));
    good = false;
  }
  good = check_kinds(parsed, diagnostics) && good;
  if (!good) parsed.axis.values.clear();
  return parsed;
}

std::vector<ParsedAxis> read_axes(const YamlNode& node, const std::string& what, bool distinct, Diagnostics& diagnostics) {
  std::vector<ParsedAxis> axes;
  if (!expect_map(node, what, diagnostics)) return axes;
  for (std::size_t i = 0; i < node.items.size() && !diagnostics.full(); ++i) {
    // YAML cuts {n: range(1, 8)} at its comma; the first half has a diagnostic.
    if (node.keys[i].name.ends_with(')') && node.items[i].kind == YamlNode::Kind::absent && !axes.empty()) continue;
    axes.push_back(read_axis(node.keys[i], node.items[i], distinct, diagnostics));
  }
  return axes;
}

/// The values of a zip block vary together: equal lengths, and no two rows alike.
void check_zip_block(std::vector<ParsedAxis>& block, Diagnostics& diagnostics) {
  std::size_t length = 0;
  const ParsedAxis* first = nullptr;
  bool good = true;
  for (const ParsedAxis& axis : block) {
    if (axis.axis.values.empty()) {
      good = false;
    } else if (first == nullptr) {
      first = &axis;
      length = axis.axis.values.size();
    } else if (axis.axis.values.size() != length) {
      diagnostics.add(axis.name_location,
                      fmt::format("{} has {} values, {} beside it has {}: what is zipped varies together", cite(axis.axis.name),
                                  axis.axis.values.size(), cite(first->axis.name), length),
                      "give both the same number of values, or put them into `matrix`");
      good = false;
    }
  }
  std::unordered_map<std::string, std::size_t> rows;
  for (std::size_t row = 0; good && row < length; ++row) {
    std::string key;
    for (const ParsedAxis& axis : block) key += axis.axis.values[row].canonical() + ',';
    if (rows.emplace(key, row).second) continue;
    diagnostics.add(first->node->items[row].location,
                    fmt::format("the values of this zip are the same in place {} and {}", rows[key] + 1, row + 1));
    good = false;
  }
  if (good) return;
  for (ParsedAxis& axis : block) axis.axis.values.clear();
}

void read_zip(const YamlNode& node, ParsedExperiment& parsed, Diagnostics& diagnostics) {
  if (!expect_list(node, "`zip`", diagnostics)) return;
  for (const YamlNode& item : node.items) {
    std::vector<ParsedAxis> block = read_axes(item, "an entry of `zip`", false, diagnostics);
    if (block.empty()) continue;
    check_zip_block(block, diagnostics);
    parsed.zip.push_back(std::move(block));
  }
}

void read_include(const YamlNode& node, ParsedExperiment& parsed, Diagnostics& diagnostics) {
  if (!expect_list(node, "`include`", diagnostics)) return;
  for (const YamlNode& item : node.items) {
    if (diagnostics.full()) return;
    if (!expect_map(item, "an entry of `include`", diagnostics)) continue;
    ParsedPoint point{{}, &item};
    bool good = true;
    for (std::size_t i = 0; i < item.items.size(); ++i) {
      const YamlNode& value_node = item.items[i];
      const std::optional<Value> value = read_axis_value(value_node, cite(item.keys[i].name), diagnostics);
      good = check_name(item.keys[i], "an axis", diagnostics) && good;
      good = value && check_axis_value(item.keys[i].name, value_node, diagnostics) && good;
      if (value) point.point.emplace_back(item.keys[i].name, *value);
    }
    if (good) parsed.include.push_back(std::move(point));
  }
}

}  // namespace

std::optional<ParsedCondition> read_condition(const YamlNode& node, const std::string& what, bool lists,
                                              Diagnostics& diagnostics) {
  if (!expect_map(node, what, diagnostics)) return std::nullopt;
  ParsedCondition parsed{{}, &node};
  bool good = true;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const std::string& name = node.keys[i].name;
    const YamlNode& item = node.items[i];
    std::vector<Value> values;
    if (item.is_list() && lists) {
      good = expect_list(item, cite(name), diagnostics) && good;
      for (const YamlNode& entry : item.items) {
        const std::optional<Value> value = read_axis_value(entry, "a value of " + cite(name), diagnostics);
        if (value) values.push_back(*value);
        good = value && good;
      }
    } else {
      const std::optional<Value> value = read_axis_value(item, fmt::format("{} in {}", cite(name), what), diagnostics);
      if (value) values.push_back(*value);
      good = value && good;
    }
    parsed.condition.emplace_back(name, std::move(values));
  }
  return good ? std::optional(parsed) : std::nullopt;
}

std::optional<ParsedCondition> read_point_condition(const YamlNode& node, const std::string& what, Diagnostics& diagnostics) {
  if (!node.is_scalar()) return read_condition(node, what, true, diagnostics);
  const std::optional<LocatedExpression> expression = LocatedExpression::read(node, what, diagnostics);
  if (!expression) return std::nullopt;
  return ParsedCondition{.condition = {}, .node = &node, .inherited = false, .expression = expression};
}

std::optional<Bindings> read_bindings(const YamlNode& node, const std::string& what, Diagnostics& diagnostics) {
  if (!expect_map(node, what, diagnostics)) return std::nullopt;
  Bindings bindings;
  for (std::size_t i = 0; i < node.items.size() && !diagnostics.full(); ++i) {
    const YamlNode& item = node.items[i];
    if (!check_name(node.keys[i], "a parameter", diagnostics)) continue;
    if (item.is_list()) {
      diagnostics.add(item.location,
                      fmt::format("the parameter {} has a list of values, but parameters do not vary", cite(node.keys[i].name)),
                      "move it to `matrix`, or put quotes around the text");
      continue;
    }
    const std::optional<Value> value = read_value(item, fmt::format("the parameter {}", cite(node.keys[i].name)), diagnostics);
    if (value) bindings.emplace_back(node.keys[i].name, *value);
  }
  return bindings;
}

void read_points(MapReader& reader, ParsedExperiment& parsed, Diagnostics& diagnostics) {
  if (const YamlNode* node = reader.take("matrix")) parsed.matrix = read_axes(*node, "`matrix`", true, diagnostics);
  if (const YamlNode* node = reader.take("zip")) read_zip(*node, parsed, diagnostics);
  if (const YamlNode* node = reader.take("exclude"); node != nullptr && expect_list(*node, "`exclude`", diagnostics)) {
    for (const YamlNode& item : node->items) {
      if (diagnostics.full()) break;
      if (auto condition = read_point_condition(item, "an entry of `exclude`", diagnostics))
        parsed.exclude.push_back(*condition);
    }
  }
  if (const YamlNode* node = reader.take("include")) read_include(*node, parsed, diagnostics);
  if (const YamlNode* node = reader.take("baseline")) {
    parsed.baseline = read_condition(*node, "`baseline`", false, diagnostics);
  }
}

namespace {

/// What expressions read as a word of their own could never be named in one.
bool check_derived_name(const YamlKey& key, Diagnostics& diagnostics) {
  constexpr std::array<std::string_view, 6> kWords = {"and", "or", "not", "in", "true", "false"};
  if (!check_name(key, "a derived value", diagnostics)) return false;
  if (std::find(kWords.begin(), kWords.end(), key.name) == kWords.end()) return true;
  diagnostics.add(key.location, fmt::format("{} is a word of expressions: no value can be called so", cite(key.name)));
  return false;
}

}  // namespace

void read_derived(MapReader& reader, ParsedExperiment& parsed, Diagnostics& diagnostics) {
  if (const YamlNode* node = reader.take("derive"); node != nullptr && expect_map(*node, "`derive`", diagnostics)) {
    for (std::size_t i = 0; i < node->items.size() && !diagnostics.full(); ++i) {
      const YamlKey& key = node->keys[i];
      const bool good = check_derived_name(key, diagnostics);
      if (node->items[i].kind == YamlNode::Kind::absent) {
        diagnostics.add(key.location, fmt::format("the derived value {} has no expression", cite(key.name)),
                        "write NAME: EXPRESSION, in quotes where it has a comma: {most: \"min(a, b)\"}");
        continue;
      }
      const auto expression =
          LocatedExpression::read(node->items[i], fmt::format("the derived value {}", cite(key.name)), diagnostics);
      if (good && expression) parsed.derive.push_back({{key.name, *expression}, key.location});
    }
  }
  if (const YamlNode* node = reader.take("require"); node != nullptr && expect_list(*node, "`require`", diagnostics)) {
    for (const YamlNode& item : node->items) {
      if (diagnostics.full()) return;
      if (const auto expression = LocatedExpression::read(item, "an entry of `require`", diagnostics))
        parsed.experiment.require.push_back(*expression);
    }
  }
}

}  // namespace hpcbench
