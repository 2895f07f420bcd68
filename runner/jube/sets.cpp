#include "jube/sets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "jube/tags.hpp"

namespace hpcbench {

namespace {

constexpr int kDeepestSet = 10;

const JubeNode* set_in(const JubeNode& parent, const std::string& name) {
  for (const JubeNode& child : parent.children) {
    if (child.tag.ends_with("set") && child.attribute("name") == name) return &child;
  }
  return nullptr;
}

}  // namespace

const JubeNode* JubeSets::other_root(const std::string& file) {
  if (const auto known = chosen_.find(file); known != chosen_.end()) return &known->second;
  const JubeNode* const root = includes_.root_of(file);
  return root == nullptr ? nullptr : &chosen_.emplace(file, choose_by_tags(*root, tags_)).first->second;
}

/// `from` is `FILE` or `FILE:SET:SET`, whose sets are named for sets that are chosen by a parameter.
const JubeNode* JubeSets::find(const std::string& name, const std::string& from) {
  if (from.empty()) {
    const JubeNode* const own = set_in(benchmark_, name);
    return own != nullptr ? own : set_in(root_, name);
  }
  const JubeNode* const other = other_root(from.substr(0, from.find(':')));
  if (other == nullptr) return nullptr;
  if (const JubeNode* const found = set_in(*other, name)) return found;
  for (const JubeNode* benchmark : other->all("benchmark")) {
    if (const JubeNode* const found = set_in(*benchmark, name)) return found;
  }
  return nullptr;
}

void JubeSets::add(std::vector<const JubeNode*>& found, const std::string& name, const std::string& from, const JubeNode& said,
                   std::string_view key, int depth, Draft& draft) {
  if (name.find('$') != std::string::npos) {
    complete_ = false;
    draft.note(
        said.place, key,
        fmt::format("FILL IN: the set `{}` is chosen by a parameter: write its values under `overrides` or `zip`", name));
    return;
  }
  const JubeNode* const set = find(name, from);
  if (set == nullptr || depth > kDeepestSet) {
    complete_ = false;
    draft.note(said.place, key, fmt::format("FILL IN: there is no set `{}`{}", name, from.empty() ? "" : " in " + from));
    return;
  }
  const std::string begins_with = set->attribute("init_with");
  if (!begins_with.empty()) {
    const std::size_t colon = begins_with.find(':');
    add(found, colon == std::string::npos ? name : begins_with.substr(colon + 1), begins_with.substr(0, colon), *set, key,
        depth + 1, draft);
  }
  for (const JubeNode* include : set->all("include")) {
    complete_ = false;
    draft.note(include->place, key, "FILL IN: " + missing_include(*include));
  }
  if (std::find(found.begin(), found.end(), set) == found.end()) found.push_back(set);
}

std::vector<const JubeNode*> JubeSets::used_by(const JubeNode& user, std::string_view key, Draft& draft) {
  std::vector<const JubeNode*> found;
  for (const JubeNode* use : user.all("use")) {
    for (const std::string& name : split(use->text, ',')) {
      add(found, std::string(trim(name)), use->attribute("from"), *use, key, 0, draft);
    }
  }
  return found;
}

}  // namespace hpcbench
