#include "jube/tags.hpp"

#include <fmt/format.h>

#include <cctype>
#include <string_view>
#include <utility>

#include "base/text.hpp"

namespace hpcbench {

namespace {

bool is_tag_byte(char c) { return std::string_view("|+!^() \t\n").find(c) == std::string_view::npos; }

/// From lowest to highest precedence: `|`, `+`, `!`, `^`, as in JUBE, which passes them to Python's `or`, `and`, `not` and `^`.
class TagParser {
 public:
  TagParser(const std::string& text, const std::set<std::string>& tags, const SourceLocation& place)
      : text_(text), tags_(tags), place_(place) {}

  bool parse() {
    const bool holds = any(0);
    if (peek() != 0) refuse();
    return holds;
  }

 private:
  static constexpr int kDeepestTags = 50;

  [[noreturn]] void refuse() const {
    refuse_jube(place_, fmt::format("`{}` is no combination of tags", printable(text_)),
                "tags are combined by `|`, `+`, `!`, `^` and brackets; JUBE takes no comma any more");
  }
  char peek() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  bool any(int depth) {
    if (depth > kDeepestTags) refuse();
    bool holds = all(depth);
    while (take('|')) holds = all(depth) || holds;
    return holds;
  }
  bool all(int depth) {
    bool holds = negated(depth);
    while (take('+')) holds = negated(depth) && holds;
    return holds;
  }
  bool negated(int depth) {
    bool flip = false;
    while (take('!')) flip = !flip;
    bool holds = single(depth);
    while (take('^')) holds = single(depth) != holds;
    return holds != flip;
  }
  bool single(int depth) {
    if (take('(')) {
      const bool holds = any(depth + 1);
      if (!take(')')) refuse();
      return holds;
    }
    if (peek() == ',' || peek() == 0) refuse();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_tag_byte(text_[at_])) ++at_;
    const std::string name = text_.substr(begin, at_ - begin);
    if (name.empty() || name.find(',') != std::string::npos) refuse();
    return tags_.contains(name);
  }

  const std::string& text_;
  const std::set<std::string>& tags_;
  SourceLocation place_;
  std::size_t at_ = 0;
};

JubeNode chosen(const JubeNode& node, const std::set<std::string>& tags) {
  JubeNode kept = node;
  kept.children.clear();
  for (const JubeNode& child : node.children) {
    const std::string condition = child.attribute("tag");
    if (condition.empty() || tags_hold(condition, tags, child.place)) kept.children.push_back(chosen(child, tags));
  }
  return kept;
}

}  // namespace

bool tags_hold(const std::string& expression, const std::set<std::string>& tags, const SourceLocation& place) {
  return TagParser(expression, tags, place).parse();
}

void collect_tags(const JubeNode& node, std::set<std::string>& tags, bool& combined) {
  const std::string condition = node.attribute("tag");
  std::string name;
  for (const char c : condition + " ") {
    if (is_tag_byte(c)) {
      name += c;
      continue;
    }
    combined = combined || c != ' ';
    if (!name.empty()) tags.insert(std::exchange(name, ""));
  }
  for (const JubeNode& child : node.children) collect_tags(child, tags, combined);
}

JubeNode choose_by_tags(const JubeNode& root, std::set<std::string> tags) {
  for (const JubeNode* selection : root.all("selection")) {
    for (const JubeNode* tag : selection->all("tag")) {
      for (const std::string& name : split(tag->text, ',')) tags.insert(std::string(trim(name)));
    }
  }
  return chosen(root, tags);
}

}  // namespace hpcbench
