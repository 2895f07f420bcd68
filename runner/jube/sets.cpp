#include "jube/sets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
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

/// Returns the child's key in a joined set: its own children replace a replacement of the same text, or a pattern of the same
/// name.
std::string replaced_by(const JubeNode& child) {
  return child.tag + ' ' + child.attribute(child.tag == "sub" ? "source" : child.tag == "iofile" ? "out" : "name");
}

/// Returns a set that begins with another's children; its own children win.
JubeNode joined(const JubeNode& beginning, const JubeNode& set) {
  std::set<std::string> own;
  for (const JubeNode& child : set.children) own.insert(replaced_by(child));
  JubeNode both = set;
  both.children.clear();
  for (const JubeNode& child : beginning.children) {
    if (!own.contains(replaced_by(child))) both.children.push_back(child);
  }
  both.children.insert(both.children.end(), set.children.begin(), set.children.end());
  return both;
}

/// Resolves files in sets of another file relative to that file.
void look_beside(JubeNode& node, const std::filesystem::path& folder) {
  if (node.tag == "copy" || node.tag == "link") {
    const std::string own = node.attribute("file_path_ref");
    std::erase_if(node.attributes, [](const auto& each) { return each.first == "file_path_ref"; });
    node.attributes.emplace_back("file_path_ref", (folder / own).string());
  }
  for (JubeNode& child : node.children) look_beside(child, folder);
}

}  // namespace

const JubeNode* JubeSets::other_root(const std::string& file) {
  if (const auto known = chosen_.find(file); known != chosen_.end()) return &known->second;
  const JubeNode* const root = includes_.root_of(file);
  if (root == nullptr) return nullptr;
  JubeNode chosen = choose_by_tags(*root, tags_);
  look_beside(chosen, std::filesystem::path(root->place.source->name()).parent_path());
  return &chosen_.emplace(file, std::move(chosen)).first->second;
}

/// Finds a set. `from` is `FILE` or `FILE:SET:SET`, where the sets are named for a choice by parameter.
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
    const std::string file = from.substr(0, from.find(':'));
    const bool has_file = file.empty() || other_root(file) != nullptr;
    draft.note(said.place, key,
               has_file ? fmt::format("FILL IN: there is no set `{}`{}", name, file.empty() ? "" : " in " + file)
                        : fmt::format("FILL IN: the set `{}` is in {}, which is not beside this file", name, file));
    return;
  }
  const std::string begins_with = set->attribute("init_with");
  const JubeNode* chosen = set;
  if (!begins_with.empty()) {
    const std::size_t colon = begins_with.find(':');
    std::vector<const JubeNode*> beginning;
    add(beginning, colon == std::string::npos ? name : begins_with.substr(colon + 1), begins_with.substr(0, colon), *set, key,
        depth + 1, draft);
    if (!beginning.empty() && (set->tag == "substituteset" || set->tag == "patternset")) {
      chosen = &joined_.emplace(set, joined(*beginning.back(), *set)).first->second;
    } else {
      for (const JubeNode* each : beginning) {
        if (std::find(found.begin(), found.end(), each) == found.end()) found.push_back(each);
      }
    }
  }
  for (const JubeNode* include : set->all("include")) {
    complete_ = false;
    draft.note(include->place, key, "FILL IN: " + missing_include(*include));
  }
  if (std::find(found.begin(), found.end(), chosen) == found.end()) found.push_back(chosen);
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
