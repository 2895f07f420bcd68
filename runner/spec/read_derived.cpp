#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "spec/draft.hpp"
#include "spec/fields.hpp"

namespace hpcbench {

namespace {

/// What expressions read as a word of their own could never be named in one.
bool check_derived_name(const YamlKey& key, Complaints& complaints) {
  constexpr std::array<std::string_view, 6> kWords = {"and", "or", "not", "in", "true", "false"};
  if (!check_name(key, "a derived value", complaints)) return false;
  if (std::find(kWords.begin(), kWords.end(), key.name) == kWords.end()) return true;
  complaints.add(key.spot, fmt::format("{} is a word of expressions: no value can be called so", cite(key.name)));
  return false;
}

}  // namespace

void read_derived(MapReader& reader, Draft& draft, Complaints& complaints) {
  if (const YamlNode* node = reader.take("derive"); node != nullptr && expect_map(*node, "`derive`", complaints)) {
    for (std::size_t i = 0; i < node->items.size() && !complaints.full(); ++i) {
      const YamlKey& key = node->keys[i];
      const bool good = check_derived_name(key, complaints);
      if (node->items[i].kind == YamlNode::Kind::absent) {
        complaints.add(key.spot, fmt::format("the derived value {} has no expression", cite(key.name)),
                       "write NAME: EXPRESSION, in quotes where it has a comma: {most: \"min(a, b)\"}");
        continue;
      }
      const auto expression =
          LocatedExpression::read(node->items[i], fmt::format("the derived value {}", cite(key.name)), complaints);
      if (good && expression) draft.derive.push_back({{key.name, *expression}, key.spot});
    }
  }
  if (const YamlNode* node = reader.take("require"); node != nullptr && expect_list(*node, "`require`", complaints)) {
    for (const YamlNode& item : node->items) {
      if (complaints.full()) return;
      if (const auto expression = LocatedExpression::read(item, "an entry of `require`", complaints))
        draft.experiment.require.push_back(*expression);
    }
  }
}

}  // namespace hpcbench
