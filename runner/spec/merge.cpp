#include "spec/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.hpp"
#include "spec/experiment.hpp"
#include "spec/fields.hpp"

namespace hpcbench {

namespace {

void remove_key(YamlNode& map, std::string_view key) {
  const std::size_t index = map.index_of(key);
  if (index == YamlNode::npos) return;
  map.keys.erase(map.keys.begin() + static_cast<std::ptrdiff_t>(index));
  map.items.erase(map.items.begin() + static_cast<std::ptrdiff_t>(index));
}

void put_key(YamlNode& map, const YamlKey& key, YamlNode value) {
  const std::size_t index = map.index_of(key.name);
  if (index == YamlNode::npos) {
    map.keys.push_back(key);
    map.items.push_back(std::move(value));
  } else {
    map.keys[index] = key;
    map.items[index] = std::move(value);
  }
}

/// What is run is one of two: to say the one is to take back the other.
void drop_other_work(YamlNode& root, const YamlNode& over) {
  const bool trainer = over.index_of("trainer") != YamlNode::npos;
  const bool command = over.index_of("command") != YamlNode::npos;
  if (trainer == command) return;
  if (command) remove_key(root, "trainer");
  if (trainer) remove_key(root, "command");
  if (trainer) remove_key(root, "shell");
}

/// Lists that need not be there: an empty one laid over the file takes them away. (Of `modules` and `setup` an empty list
/// stays: without one the site's would count.)
bool is_emptied(const YamlNode& over, const std::string& path) {
  constexpr std::array kLists = {"zip",
                                 "exclude",
                                 "include",
                                 "overrides",
                                 "metrics",
                                 "prepare",
                                 "import",
                                 "srun",
                                 "resources.extra",
                                 "report.columns",
                                 "report.group_by",
                                 "report.sort",
                                 "report.references",
                                 "require",
                                 "success.require"};
  const bool is_known = std::find(kLists.begin(), kLists.end(), path) != kLists.end();
  const bool is_inputs = path.starts_with("prepare.") && path.ends_with(".inputs");
  return over.is_list() && over.items.empty() && (is_known || is_inputs);
}

/// Halves of two conditions or of two ranges would mean neither; a profile says by itself what it takes away.
bool is_replaced_whole(const std::string& path) {
  return path == "baseline" || path == "report.where" || path.starts_with("profiles.") || path.starts_with("matrix.");
}

std::string path_below(const std::string& path, const std::string& key) { return path.empty() ? key : path + '.' + key; }

YamlNode merge(const YamlNode& base, const YamlNode& over, const std::string& path) {
  if (!base.is_map() || !over.is_map() || is_replaced_whole(path)) return over;
  YamlNode merged = base;
  for (std::size_t i = 0; i < over.keys.size(); ++i) {
    const YamlKey& key = over.keys[i];
    const std::string inner = path_below(path, key.name);
    if (is_removal(over.items[i]) || is_emptied(over.items[i], inner)) {
      remove_key(merged, key.name);
      continue;
    }
    const YamlNode* below = merged.find(key.name);
    YamlNode value = below == nullptr ? over.items[i] : merge(*below, over.items[i], inner);
    if (below != nullptr && value.is_map() && value.items.empty() && !over.items[i].items.empty()) {
      remove_key(merged, key.name);  // all that it held was taken away
    } else {
      put_key(merged, key, std::move(value));
    }
  }
  return merged;
}

}  // namespace

YamlNode merge(const YamlNode& base, const YamlNode& over) {
  YamlNode merged = base;
  if (over.is_map()) drop_other_work(merged, over);
  return merge(merged, over, "");
}

std::string set_value(YamlNode& root, const std::vector<YamlKey>& path, const YamlNode& value) {
  if (path.size() == 1) {
    YamlNode said;
    said.keys.push_back(path.front());
    drop_other_work(root, said);
  }
  YamlNode* map = &root;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    const std::size_t index = map->index_of(path[i].name);
    if (index == YamlNode::npos) {
      YamlNode made;
      made.kind = YamlNode::Kind::map;
      made.location = path[i].location;
      put_key(*map, path[i], std::move(made));
      map = &map->items.back();
      continue;
    }
    map = &map->items[index];
    if (!map->is_map()) return path[i].name;
    map->location = path[i].location;  // no longer what the file alone says
  }
  std::string whole;
  for (const YamlKey& key : path) whole = path_below(whole, key.name);
  if (is_removal(value) || is_emptied(value, whole)) {
    remove_key(*map, path.back().name);
  } else {
    put_key(*map, path.back(), value);
  }
  return "";
}

namespace {

YamlNode without_removals_below(const YamlNode& over, const std::string& path) {
  if (!over.is_map() || is_replaced_whole(path)) return over;
  YamlNode left = over;
  for (std::size_t i = 0; i < over.keys.size(); ++i) {
    const std::string& name = over.keys[i].name;
    const std::string inner = path_below(path, name);
    if (is_removal(over.items[i]) || is_emptied(over.items[i], inner)) {
      remove_key(left, name);
      continue;
    }
    YamlNode below = without_removals_below(over.items[i], inner);
    if (below.is_map() && below.items.empty() && !over.items[i].items.empty()) {
      remove_key(left, name);
    } else {
      put_key(left, over.keys[i], std::move(below));
    }
  }
  return left;
}

void refuse_vain_below(const YamlNode* base, const YamlNode& over, const std::string& path, Diagnostics& diagnostics) {
  if (!over.is_map() || is_replaced_whole(path)) return;
  for (std::size_t i = 0; i < over.keys.size(); ++i) {
    const std::string& name = over.keys[i].name;
    const YamlNode* below = base == nullptr || !base->is_map() ? nullptr : base->find(name);
    if (is_removal(over.items[i]) && below == nullptr) {
      std::vector<std::string> names;
      for (std::size_t k = 0; base != nullptr && k < base->keys.size(); ++k) names.push_back(base->keys[k].name);
      const bool of_site = path.empty() && (name == "modules" || name == "setup");
      diagnostics.add(over.keys[i].location,
                      fmt::format("`{}` is not there to be taken away{}", path_below(path, name), did_you_mean(name, names)),
                      of_site ? "write [] for none, not even the site's" : "nothing below says it; remove this line");
    }
    refuse_vain_below(below, over.items[i], path_below(path, name), diagnostics);
  }
}

}  // namespace

bool is_removal(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::absent || node.location.source == nullptr) return false;
  const std::string_view text = std::string_view(node.location.source->text()).substr(node.location.offset);
  return text.starts_with('~') || text.starts_with("null");
}

YamlNode without_removals(const YamlNode& over) { return without_removals_below(over, ""); }

void refuse_vain_removals(const YamlNode& base, const YamlNode& over, Diagnostics& diagnostics) {
  refuse_vain_below(&base, over, "", diagnostics);
}

void collect_origins(const YamlNode& root, const std::string& prefix, std::map<std::string, std::string>& origins) {
  for (std::size_t i = 0; i < root.keys.size(); ++i) {
    if (prefix.empty() && root.keys[i].name == "profiles") continue;
    const std::string path = prefix.empty() ? root.keys[i].name : prefix + '.' + root.keys[i].name;
    const YamlNode& value = root.items[i];
    origins[path] = value.location.source->name() == "--set" ? "--set" : describe_place(value.location);
    if (value.is_map()) collect_origins(value, path, origins);
  }
}

}  // namespace hpcbench
