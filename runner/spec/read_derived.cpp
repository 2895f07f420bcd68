#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "spec/fields.hpp"
#include "spec/parsed_experiment.hpp"

namespace hpcbench {

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
