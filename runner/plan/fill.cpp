#include "plan/fill.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "plan/identity.hpp"
#include "plan/placeholders.hpp"
#include "spec/placeholders.hpp"
#include "spec/point_values.hpp"

namespace hpcbench {

namespace {

long long total(const Point& point, const std::vector<std::string>& axes, const std::string& per_node) {
  const auto at = [&](const std::string& axis) {
    const auto column = static_cast<std::size_t>(std::find(axes.begin(), axes.end(), axis) - axes.begin());
    return column < point.size() ? point[column].integer().value_or(0) : 0;
  };
  return at("nodes") * at(per_node);
}

[[noreturn]] void refuse(const FilledText& text, const std::string& value, const std::string& wanted, const Bindings& point) {
  throw InputError(fmt::format("{}: error: `resources.{}` is `{}` for {}\n  = it must be {}", describe(text.place), text.key,
                               value, describe(point), wanted));
}

void fill_decks(std::vector<InputDeck>& decks, const Bindings& bindings) {
  for (InputDeck& deck : decks) {
    deck.from = fill_placeholders(deck.from, bindings);
    deck.to = fill_placeholders(deck.to, bindings);
    if (const std::string why = why_no_deck(deck.to); !why.empty())
      throw InputError(fmt::format("{}: error: {}", describe(deck.place), why));
  }
  if (const std::string twice = repeated_deck(decks); !twice.empty()) {
    throw InputError(fmt::format("{}: error: two entries of `files` write `{}`", describe(decks.front().place), twice));
  }
}

}  // namespace

Bindings WorkFiller::bindings_of(const Work& work, const Point& point, const std::vector<Value>& derived) const {
  Bindings bindings;
  for (std::size_t i = 0; i < axes_.size(); ++i) bindings.emplace_back(axes_[i], point[i]);
  bindings.insert(bindings.end(), work.parameters.begin(), work.parameters.end());
  for (std::size_t i = 0; i < derived.size(); ++i) bindings.emplace_back(experiment_.derive[i].name, derived[i]);
  bindings.emplace_back("gpus", Value::from_integer(total(point, axes_, "gpus_per_node")));
  if (std::find(axes_.begin(), axes_.end(), kRanksPerNode) != axes_.end())
    bindings.emplace_back("ranks", Value::from_integer(total(point, axes_, kRanksPerNode)));
  return bindings;
}

const ResolvedWork& WorkFiller::fill(const ResolvedWork& resolved, const Point& point, const std::vector<Value>& derived) {
  if (!resolved.has_point_texts) return resolved;
  const Work& work = *resolved.work;
  const Bindings bindings = bindings_of(work, point, derived);
  std::vector<std::string> values;
  for (const std::string* text : texts_of_point(work)) {
    const auto list = spread_argument(*text, bindings);
    values.push_back(list ? Value::from_list(*list).text() : fill_placeholders(*text, bindings));
  }
  const auto known = filled_.find({resolved.work.get(), values});
  if (known != filled_.end()) return known->second;

  auto changed = std::make_shared<Work>(work);
  const Bindings axes(bindings.begin(), bindings.begin() + static_cast<std::ptrdiff_t>(axes_.size()));
  for (const FilledText& text : work.resources.texts) {
    const std::string value = fill_placeholders(text.text, bindings);
    const std::string wanted = set_resource(changed->resources, text.key, value);
    if (!wanted.empty()) refuse(text, value, wanted, axes);
  }
  changed->resources.texts.clear();
  for (std::string& option : changed->resources.extra) option = fill_placeholders(option, bindings);
  if (work.partition) changed->partition = fill_placeholders(*work.partition, bindings);
  changed->modules = fill_arguments(work.modules, bindings);
  fill_decks(changed->files, bindings);
  ResolvedWork made{changed, identity_tail(*changed), resolved.derived, false};
  return filled_.emplace(std::pair(resolved.work.get(), std::move(values)), std::move(made)).first->second;
}

}  // namespace hpcbench
