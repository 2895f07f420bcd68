#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/text.hpp"
#include "spec/draft.hpp"
#include "spec/fields.hpp"
#include "spec/read_experiment.hpp"

namespace hpcbench {

std::vector<const AxisDraft*> Draft::product_axes() const {
  std::vector<const AxisDraft*> axes;
  for (const AxisDraft& axis : matrix) axes.push_back(&axis);
  for (const std::vector<AxisDraft>& block : zip) {
    for (const AxisDraft& axis : block) axes.push_back(&axis);
  }
  return axes;
}

std::vector<std::string> Draft::axis_names() const {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const AxisDraft* axis : product_axes()) add(axis->axis.name);
  if (names.empty() && !include.empty()) {
    for (const auto& [name, value] : include.front().point) add(name);
  }
  add("nodes");
  add("gpus_per_node");
  return names;
}

bool check_name(const YamlKey& key, const std::string& what, Complaints& complaints) {
  if (!is_identifier(key.name)) {
    complaints.add(key.spot, fmt::format("{} cannot be the name of {}", cite(key.name), what),
                   "a name has letters, digits and _, and does not start with a digit");
    return false;
  }
  // `gpu_per_node` would be an axis like any other, and the study would run on one gpu throughout.
  if (key.name.size() >= 10 && key.name != "gpus_per_node" && nearest(key.name, {"gpus_per_node"})) {
    complaints.add(
        key.spot,
        fmt::format("{} is not the name of an axis that hpcbench knows (did you mean `gpus_per_node`?)", cite(key.name)),
        "gpus_per_node says how many gpus a run has; choose a name that cannot be mistaken for it");
    return false;
  }
  for (const char* const own : {"gpus", "run_dir", "repeat", "seed"}) {
    if (key.name != own) continue;
    const std::string advice = key.name == "seed"   ? "say it as `seed: {policy: fixed, value: 1}`"
                               : key.name == "gpus" ? "it is nodes x gpus_per_node"
                                                    : "choose another name";
    complaints.add(key.spot, fmt::format("`{}` is a name that hpcbench gives a value itself", key.name), advice);
    return false;
  }
  return true;
}

namespace {

constexpr long long kMostNodes = 100'000;
constexpr long long kMostGpusPerNode = 1'000;

/// What only values of some axes must be.
bool check_axis_value(const std::string& axis, const YamlNode& node, Complaints& complaints) {
  if (axis == "nodes") return read_integer(node, "`nodes`", 1, kMostNodes, complaints).has_value();
  if (axis == "gpus_per_node") return read_integer(node, "`gpus_per_node`", 1, kMostGpusPerNode, complaints).has_value();
  if (axis == "strategy" && node.is_scalar() && !is_plain_name(node.text)) {
    complaints.add(node.spot, fmt::format("{} cannot be the name of a strategy", cite(node.text)),
                   "a name has letters, digits, `.`, `_` and `-`");
    return false;
  }
  return true;
}

AxisDraft read_axis(const YamlKey& key, const YamlNode& node, bool distinct, Complaints& complaints) {
  AxisDraft draft;
  draft.axis.name = key.name;
  draft.name_spot = key.spot;
  draft.node = &node;
  bool good = check_name(key, "an axis", complaints);
  if (node.kind == YamlNode::Kind::absent) {
    complaints.add(key.spot, fmt::format("the axis {} has no values", cite(key.name)),
                   fmt::format("write {}: [1, 2]", key.name));
    return draft;
  }
  if (!expect_list(node, fmt::format("the axis {}", cite(key.name)), complaints)) return draft;
  std::unordered_map<std::string_view, const YamlNode*> seen;
  for (const YamlNode& item : node.items) {
    if (complaints.full()) return draft;
    const std::optional<Value> value = read_value(item, fmt::format("a value of {}", cite(key.name)), complaints);
    good = value && check_axis_value(key.name, item, complaints) && good;
    if (!value) continue;
    draft.axis.values.push_back(*value);
    const auto [first, is_new] = seen.emplace(draft.axis.values.back().canonical(), &item);
    if (is_new || !distinct) continue;
    const bool same = first->second->text == item.text;
    complaints.add(item.spot, fmt::format("{} has the value {} twice", cite(key.name), cite(item.text)),
                   same ? "remove one of them" : fmt::format("{} is the same number", cite(first->second->text)));
    good = false;
  }
  if (!good) draft.axis.values.clear();
  return draft;
}

std::vector<AxisDraft> read_axes(const YamlNode& node, const std::string& what, bool distinct, Complaints& complaints) {
  std::vector<AxisDraft> axes;
  if (!expect_map(node, what, complaints)) return axes;
  for (std::size_t i = 0; i < node.items.size() && !complaints.full(); ++i) {
    axes.push_back(read_axis(node.keys[i], node.items[i], distinct, complaints));
  }
  return axes;
}

/// The values of a zip block vary together: equal lengths, and no two rows alike.
void check_zip_block(std::vector<AxisDraft>& block, Complaints& complaints) {
  std::size_t length = 0;
  const AxisDraft* first = nullptr;
  bool good = true;
  for (const AxisDraft& axis : block) {
    if (axis.axis.values.empty()) {
      good = false;
    } else if (first == nullptr) {
      first = &axis;
      length = axis.axis.values.size();
    } else if (axis.axis.values.size() != length) {
      complaints.add(axis.name_spot,
                     fmt::format("{} has {} values, {} beside it has {}: what is zipped varies together", cite(axis.axis.name),
                                 axis.axis.values.size(), cite(first->axis.name), length),
                     "give both the same number of values, or put them into `matrix`");
      good = false;
    }
  }
  std::unordered_map<std::string, std::size_t> rows;
  for (std::size_t row = 0; good && row < length; ++row) {
    std::string key;
    for (const AxisDraft& axis : block) key += axis.axis.values[row].canonical() + ',';
    if (rows.emplace(key, row).second) continue;
    complaints.add(first->node->items[row].spot,
                   fmt::format("the values of this zip are the same in place {} and {}", rows[key] + 1, row + 1));
    good = false;
  }
  if (good) return;
  for (AxisDraft& axis : block) axis.axis.values.clear();
}

void read_zip(const YamlNode& node, Draft& draft, Complaints& complaints) {
  if (!expect_list(node, "`zip`", complaints)) return;
  for (const YamlNode& item : node.items) {
    std::vector<AxisDraft> block = read_axes(item, "an entry of `zip`", false, complaints);
    if (block.empty()) continue;
    check_zip_block(block, complaints);
    draft.zip.push_back(std::move(block));
  }
}

void read_include(const YamlNode& node, Draft& draft, Complaints& complaints) {
  if (!expect_list(node, "`include`", complaints)) return;
  for (const YamlNode& item : node.items) {
    if (complaints.full()) return;
    if (!expect_map(item, "an entry of `include`", complaints)) continue;
    PointDraft point{{}, &item};
    bool good = true;
    for (std::size_t i = 0; i < item.items.size(); ++i) {
      const YamlNode& value_node = item.items[i];
      const std::optional<Value> value = read_value(value_node, cite(item.keys[i].name), complaints);
      good = check_name(item.keys[i], "an axis", complaints) && good;
      good = value && check_axis_value(item.keys[i].name, value_node, complaints) && good;
      if (value) point.point.emplace_back(item.keys[i].name, *value);
    }
    if (good) draft.include.push_back(std::move(point));
  }
}

}  // namespace

std::optional<ConditionDraft> read_condition(const YamlNode& node, const std::string& what, bool lists,
                                             Complaints& complaints) {
  if (!expect_map(node, what, complaints)) return std::nullopt;
  ConditionDraft draft{{}, &node};
  bool good = true;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const std::string& name = node.keys[i].name;
    const YamlNode& item = node.items[i];
    std::vector<Value> values;
    if (item.is_list() && lists) {
      good = expect_list(item, cite(name), complaints) && good;
      for (const YamlNode& entry : item.items) {
        const std::optional<Value> value = read_value(entry, "a value of " + cite(name), complaints);
        if (value) values.push_back(*value);
        good = value && good;
      }
    } else {
      const std::optional<Value> value = read_value(item, fmt::format("{} in {}", cite(name), what), complaints);
      if (value) values.push_back(*value);
      good = value && good;
    }
    draft.condition.emplace_back(name, std::move(values));
  }
  return good ? std::optional(draft) : std::nullopt;
}

std::optional<ConditionDraft> read_point_condition(const YamlNode& node, const std::string& what, Complaints& complaints) {
  if (!node.is_scalar()) return read_condition(node, what, true, complaints);
  const std::optional<LocatedExpression> expression = LocatedExpression::read(node, what, complaints);
  if (!expression) return std::nullopt;
  return ConditionDraft{.condition = {}, .node = &node, .inherited = false, .expression = expression};
}

std::optional<Bindings> read_bindings(const YamlNode& node, const std::string& what, Complaints& complaints) {
  if (!expect_map(node, what, complaints)) return std::nullopt;
  Bindings bindings;
  for (std::size_t i = 0; i < node.items.size() && !complaints.full(); ++i) {
    const YamlNode& item = node.items[i];
    if (!check_name(node.keys[i], "a parameter", complaints)) continue;
    if (item.is_list()) {
      complaints.add(item.spot,
                     fmt::format("the parameter {} has a list of values, but parameters do not vary", cite(node.keys[i].name)),
                     "move it to `matrix`, or put quotes around the text");
      continue;
    }
    const std::optional<Value> value = read_value(item, fmt::format("the parameter {}", cite(node.keys[i].name)), complaints);
    if (value && check_axis_value(node.keys[i].name == "strategy" ? "strategy" : "", item, complaints)) {
      bindings.emplace_back(node.keys[i].name, *value);
    }
  }
  return bindings;
}

void read_points(MapReader& reader, Draft& draft, Complaints& complaints) {
  if (const YamlNode* node = reader.take("matrix")) draft.matrix = read_axes(*node, "`matrix`", true, complaints);
  if (const YamlNode* node = reader.take("zip")) read_zip(*node, draft, complaints);
  if (const YamlNode* node = reader.take("exclude"); node != nullptr && expect_list(*node, "`exclude`", complaints)) {
    for (const YamlNode& item : node->items) {
      if (complaints.full()) break;
      if (auto condition = read_point_condition(item, "an entry of `exclude`", complaints)) draft.exclude.push_back(*condition);
    }
  }
  if (const YamlNode* node = reader.take("include")) read_include(*node, draft, complaints);
  if (const YamlNode* node = reader.take("baseline")) {
    draft.baseline = read_condition(*node, "`baseline`", false, complaints);
  }
}

}  // namespace hpcbench
