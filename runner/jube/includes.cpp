#include "jube/includes.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace hpcbench {

namespace {

constexpr int kDeepestInclude = 10;
constexpr std::size_t kMostIncluded = 10'000;
constexpr std::size_t kMostOtherFiles = 50;

std::size_t size_of(const JubeNode& node) {
  std::size_t count = 1;
  for (const JubeNode& child : node.children) count += size_of(child);
  return count;
}

}  // namespace

const JubeNode* JubeIncludes::root_of(const std::string& file) {
  for (const std::string& folder : folders_) {
    if (const JubeNode* const root = root_at((std::filesystem::path(folder) / file).string())) return root;
  }
  return root_at(file);
}

const JubeNode* JubeIncludes::root_at(const std::string& file) {
  if (const auto known = others_.find(file); known != others_.end()) return &known->second.root;
  const std::optional<std::string> text = others_.size() < kMostOtherFiles ? files_(file) : std::nullopt;
  if (!text) return nullptr;
  OtherFile other;
  other.source = std::make_unique<YamlSource>(file, *text);
  other.root = read_jube_tree(*other.source);
  return &others_.emplace(file, std::move(other)).first->second.root;
}

/// Finds the elements of the simplest XPath: names with `/` between them, from the root down.
std::vector<JubeNode> JubeIncludes::named_by(const JubeNode& include) {
  const JubeNode* const root = root_of(include.attribute("from"));
  if (root == nullptr || include.attribute("path").empty()) return {};
  std::vector<const JubeNode*> found = {root};
  for (const std::string& name : split(include.attribute("path"), '/')) {
    std::vector<const JubeNode*> below;
    for (const JubeNode* node : found) {
      const std::vector<const JubeNode*> named = node->all(name);
      below.insert(below.end(), named.begin(), named.end());
    }
    found = std::move(below);
  }
  std::vector<JubeNode> copies;
  for (const JubeNode* node : found) {
    included_ += size_of(*node);
    if (included_ > kMostIncluded) return {};
    copies.push_back(*node);
  }
  return copies;
}

void JubeIncludes::expand(JubeNode& node, int depth) {
  std::vector<JubeNode> children;
  for (JubeNode& child : node.children) {
    std::vector<JubeNode> named = child.tag == "include" && depth < kDeepestInclude ? named_by(child) : std::vector<JubeNode>();
    const bool followed = !named.empty();
    for (JubeNode& each : named) {
      expand(each, depth + 1);
      children.push_back(std::move(each));
    }
    if (followed) continue;
    expand(child, depth);
    children.push_back(std::move(child));
  }
  node.children = std::move(children);
}

std::string missing_include(const JubeNode& include) {
  return fmt::format("what `include` takes from `{}` by the path `{}` is not here", include.attribute("from"),
                     include.attribute("path"));
}

void JubeIncludes::expand(JubeNode& node) { expand(node, 0); }

}  // namespace hpcbench
