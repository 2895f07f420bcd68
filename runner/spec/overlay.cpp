#include "spec/overlay.hpp"

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

YamlNode merge(const YamlNode& base, const YamlNode& over, const std::string& path) {
  if (!base.is_map() || !over.is_map() || path == "baseline" || path == "report.where") return over;
  YamlNode merged = base;
  for (std::size_t i = 0; i < over.keys.size(); ++i) {
    const YamlKey& key = over.keys[i];
    const YamlNode* below = merged.find(key.name);
    if (below != nullptr && path == "parameters" && over.items[i].kind == YamlNode::Kind::absent) {
      remove_key(merged, key.name);  // `~` takes a parameter back
      continue;
    }
    const std::string inner = path.empty() ? key.name : path + '.' + key.name;
    put_key(merged, key, below == nullptr ? over.items[i] : merge(*below, over.items[i], inner));
  }
  return merged;
}

}  // namespace

YamlNode without_removals(const YamlNode& over) {
  YamlNode rest = over;
  const std::size_t index = rest.is_map() ? rest.index_of("parameters") : YamlNode::npos;
  if (index == YamlNode::npos || !rest.items[index].is_map()) return rest;
  const YamlNode parameters = rest.items[index];
  for (std::size_t i = 0; i < parameters.keys.size(); ++i) {
    if (parameters.items[i].kind == YamlNode::Kind::absent) remove_key(rest.items[index], parameters.keys[i].name);
  }
  return rest;
}

YamlNode overlay(const YamlNode& base, const YamlNode& over) {
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
      made.spot = path[i].spot;
      put_key(*map, path[i], std::move(made));
      map = &map->items.back();
      continue;
    }
    map = &map->items[index];
    if (!map->is_map()) return path[i].name;
    map->spot = path[i].spot;  // no longer what the file alone says
  }
  put_key(*map, path.back(), value);
  return "";
}

void collect_origins(const YamlNode& root, const std::string& prefix, std::map<std::string, std::string>& origins) {
  for (std::size_t i = 0; i < root.keys.size(); ++i) {
    if (prefix.empty() && root.keys[i].name == "profiles") continue;
    const std::string path = prefix.empty() ? root.keys[i].name : prefix + '.' + root.keys[i].name;
    const YamlNode& value = root.items[i];
    origins[path] = value.spot.source->name() == "--set" ? "--set" : describe_place(value.spot);
    if (value.is_map()) collect_origins(value, path, origins);
  }
}

}  // namespace hpcbench
