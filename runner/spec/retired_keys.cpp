#include "spec/retired_keys.hpp"

#include <string_view>

namespace hpcbench {

namespace {

constexpr const char* kInsteadOfInject =
    "hit the program from its own command: [bash, -c, 'timeout -s KILL 30 python train.py'] kills it after 30 s";
constexpr const char* kInsteadOfCalibrate =
    "run the study into two folders, once with `--set allocation.side_by_side=1`, and compare them: `hpcbench compare FILE "
    "--results FOLDER1 FOLDER2`";

using RetiredKeys = std::vector<std::pair<SourceLocation, RetiredKey>>;

void look(const YamlNode* map, std::string_view key, const char* path, const char* advice, RetiredKeys& found) {
  const std::size_t index = map != nullptr && map->is_map() ? map->index_of(key) : YamlNode::npos;
  if (index == YamlNode::npos) return;
  const SourceLocation& location = map->keys[index].location;
  found.push_back({location, {place_of(location), path, advice}});
}

}  // namespace

RetiredKeys find_retired_keys(const YamlNode& root) {
  RetiredKeys found;
  if (!root.is_map()) return found;
  look(&root, "inject", "inject", kInsteadOfInject, found);
  look(root.find("allocation"), "calibrate", "allocation.calibrate", kInsteadOfCalibrate, found);
  const YamlNode* const overrides = root.find("overrides");
  if (overrides == nullptr || !overrides->is_list()) return found;
  for (const YamlNode& entry : overrides->items) look(&entry, "inject", "overrides.inject", kInsteadOfInject, found);
  return found;
}

}  // namespace hpcbench
