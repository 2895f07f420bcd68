#include "spec/points.hpp"

#include <algorithm>

namespace hpcbench {

PointSpace::PointSpace(const ParsedExperiment& parsed) {
  has_product_ = !parsed.matrix.empty() || !parsed.zip.empty();
  implied_.reserve(2);
  for (const ParsedAxis& axis : parsed.matrix) add_block({{&axis.axis}, axis.axis.values.size()});
  for (const std::vector<ParsedAxis>& zipped : parsed.zip) {
    Block block;
    for (const ParsedAxis& axis : zipped) block.axes.push_back(&axis.axis);
    block.rows = zipped.front().axis.values.size();
    add_block(std::move(block));
  }
  for (const ParsedPoint& point : parsed.include) {
    included_.push_back(&point.point);
    for (const auto& [name, value] : point.point) included_values_[name][value.canonical()] = true;
  }
  for (const char* const name : {"nodes", "gpus_per_node"}) {
    if (places_.contains(name) || (!has_product_ && included_values_.contains(name))) continue;
    const bool none = name == std::string_view("gpus_per_node") && has_axis(kRanksPerNode);
    implied_.push_back(Axis{name, {Value::from_integer(none ? 0 : 1)}});
    add_block({{&implied_.back()}, 1});
  }
  if (!has_product_) product_size_ = 0;
  for (const ParsedCondition& exclude : parsed.exclude) {
    if (exclude.expression) {
      add_exclude(*exclude.expression, parsed.experiment.work.parameters);
    } else if (auto rows = rows_of(exclude.condition)) {
      excludes_.push_back(*std::move(rows));
    }
  }
}

namespace {

/// The axis that a total counts on each node: of `gpus` and `ranks`. Empty for any other name.
const char* counted_per_node(std::string_view total) {
  return total == "gpus" ? "gpus_per_node" : total == "ranks" ? kRanksPerNode : "";
}

}  // namespace

/// One that names what is not there is left out: it has its diagnostic.
void PointSpace::add_exclude(const LocatedExpression& expression, const Bindings& parameters) {
  ExpressionExclude exclude{&expression, {}};
  const auto depend_on = [&](const AxisPlace& place) { exclude.blocks.push_back(place.block); };
  for (const NameUse& use : expression.expression().names()) {
    if (const auto place = places_.find(use.name); place != places_.end()) {
      exclude.sources.push_back({.axis = place->second.axis, .block = place->second.block});
      depend_on(place->second);
    } else if (const Value* value = find_binding(parameters, use.name)) {
      exclude.sources.push_back({.constant = *value});
    } else if (const char* const each = counted_per_node(use.name); places_.contains("nodes") && places_.contains(each)) {
      exclude.sources.push_back({.per_node = each});
      depend_on(places_.at("nodes"));
      depend_on(places_.at(each));
    } else {
      return;
    }
  }
  expression_excludes_.push_back(std::move(exclude));
}

void PointSpace::add_block(Block block) {
  for (const Axis* axis : block.axes) {
    AxisPlace place{blocks_.size(), axis, {}};
    for (std::size_t row = 0; row < axis->values.size(); ++row) place.rows_of[axis->values[row].canonical()].push_back(row);
    places_.emplace(axis->name, std::move(place));
  }
  const auto rows = static_cast<long long>(block.rows);
  product_size_ = rows > 0 && product_size_ > kMany / rows ? kMany : product_size_ * rows;
  blocks_.push_back(std::move(block));
}

bool PointSpace::has_axis(std::string_view name) const {
  return places_.contains(name) || (!has_product_ && included_values_.contains(std::string(name)));
}

bool PointSpace::has_value(std::string_view axis, const Value& value, bool included) const {
  const auto place = places_.find(axis);
  if (place != places_.end() && place->second.rows_of.contains(value.canonical())) return true;
  if (!included && has_product_) return false;
  const auto values = included_values_.find(std::string(axis));
  return values != included_values_.end() && values->second.contains(value.canonical());
}

std::vector<Value> PointSpace::some_values(std::string_view axis) const {
  constexpr std::size_t kSome = 200;
  std::vector<Value> values;
  const auto add = [&](const Value& value) {
    if (values.size() < kSome && std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  };
  if (const auto place = places_.find(axis); place != places_.end()) {
    for (const Value& value : place->second.axis->values) {
      if (values.size() >= kSome) break;
      add(value);
    }
  }
  for (const Bindings* point : included_) {
    if (values.size() >= kSome) break;
    if (const Value* value = find_binding(*point, axis)) add(*value);
  }
  return values;
}

std::optional<PointSpace::RowCondition> PointSpace::rows_of(const Condition& condition) const {
  RowCondition result;
  for (const auto& [name, values] : condition) {
    const auto found = places_.find(name);
    if (found == places_.end()) return std::nullopt;
    std::vector<std::size_t> rows;
    for (const Value& value : values) {
      const auto of_value = found->second.rows_of.find(value.canonical());
      if (of_value != found->second.rows_of.end()) rows.insert(rows.end(), of_value->second.begin(), of_value->second.end());
    }
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    const auto same = std::find_if(result.blocks.begin(), result.blocks.end(),
                                   [&](const auto& block) { return block.first == found->second.block; });
    if (same == result.blocks.end()) {
      result.blocks.emplace_back(found->second.block, std::move(rows));
    } else {
      std::vector<std::size_t> both;
      std::set_intersection(same->second.begin(), same->second.end(), rows.begin(), rows.end(), std::back_inserter(both));
      same->second = std::move(both);
    }
  }
  for (const auto& [block, rows] : result.blocks) {
    if (rows.empty()) return std::nullopt;
  }
  std::sort(result.blocks.begin(), result.blocks.end());
  return result;
}

bool PointSpace::product_matches(const Condition& condition) const {
  return has_product_ && rows_of(condition).has_value() &&
         std::all_of(blocks_.begin(), blocks_.end(), [](const Block& block) { return block.rows > 0; });
}

/// Depth first over the blocks that matter. Of the conditions to avoid, those that the rows chosen so far match are carried
/// along; one with no block left to choose has matched, and the branch ends.
struct PointSpace::Search {
  enum class Answer { none, found, too_long };
  static constexpr long long kMostSteps = 5'000'000;

  const PointSpace& space;
  const RowCondition& wanted;
  std::vector<const RowCondition*> avoid;
  std::vector<std::size_t> order;   // blocks that matter, ascending
  std::vector<std::size_t> chosen;  // rows, one per block of `order`
  long long steps = 0;

  void collect_blocks() {
    const auto add = [&](const RowCondition& condition) {
      for (const auto& [block, rows] : condition.blocks) order.push_back(block);
    };
    add(wanted);
    for (const RowCondition* condition : avoid) add(*condition);
    for (const ExpressionExclude& exclude : space.expression_excludes_)
      order.insert(order.end(), exclude.blocks.begin(), exclude.blocks.end());
    std::sort(order.begin(), order.end());
    order.erase(std::unique(order.begin(), order.end()), order.end());
  }

  static const std::vector<std::size_t>* rows_in(const RowCondition& condition, std::size_t block) {
    const auto found = std::lower_bound(condition.blocks.begin(), condition.blocks.end(), block,
                                        [](const auto& entry, std::size_t value) { return entry.first < value; });
    return found != condition.blocks.end() && found->first == block ? &found->second : nullptr;
  }

  Answer descend(std::size_t depth, const std::vector<const RowCondition*>& alive) {
    for (const RowCondition* condition : alive) {
      const bool done = condition->blocks.empty() || (depth > 0 && condition->blocks.back().first <= order[depth - 1]);
      if (done) return Answer::none;
    }
    if (depth == order.size()) return is_excluded() ? Answer::none : Answer::found;
    const std::size_t block = order[depth];
    const std::vector<std::size_t>* allowed = rows_in(wanted, block);
    const std::size_t count = allowed != nullptr ? allowed->size() : space.blocks_[block].rows;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t row = allowed != nullptr ? (*allowed)[i] : i;
      std::vector<const RowCondition*> still;
      for (const RowCondition* condition : alive) {
        const std::vector<std::size_t>* rows = rows_in(*condition, block);
        if (rows == nullptr || std::binary_search(rows->begin(), rows->end(), row)) still.push_back(condition);
      }
      steps += 1 + static_cast<long long>(alive.size());
      if (steps > kMostSteps) return Answer::too_long;
      chosen.push_back(row);
      const Answer answer = descend(depth + 1, still);
      if (answer != Answer::none) return answer;
      chosen.pop_back();
    }
    return Answer::none;
  }

  std::size_t chosen_row(std::size_t block) const {
    return chosen[static_cast<std::size_t>(std::lower_bound(order.begin(), order.end(), block) - order.begin())];
  }

  /// Whether an expression excludes what is chosen. One that cannot be computed excludes nothing: make_plan says so.
  bool is_excluded() {
    return std::any_of(space.expression_excludes_.begin(), space.expression_excludes_.end(),
                       [&](const ExpressionExclude& exclude) {
                         const auto at = [&](const char* axis) {
                           const AxisPlace& place = space.places_.at(axis);
                           return place.axis->values[chosen_row(place.block)].integer().value_or(1);
                         };
                         std::vector<Value> totals;
                         totals.reserve(exclude.sources.size());
                         std::vector<const Value*> values;
                         for (const ExpressionExclude::Source& source : exclude.sources) {
                           if (source.per_node != nullptr)
                             totals.push_back(Value::from_integer(at("nodes") * at(source.per_node)));
                           values.push_back(source.axis != nullptr ? &source.axis->values[chosen_row(source.block)]
                                            : source.constant      ? &*source.constant
                                                                   : &totals.back());
                         }
                         try {
                           return exclude.expression->expression().holds(values);
                         } catch (const ExpressionError&) {
                           steps += 100;  // an exception costs as much
                           return false;
                         }
                       });
  }

  Bindings point() const {
    Bindings bindings;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      for (const Axis* axis : space.blocks_[order[i]].axes) bindings.emplace_back(axis->name, axis->values[chosen[i]]);
    }
    return bindings;
  }
};

std::optional<Bindings> PointSpace::find_point(const Condition& condition, const std::vector<const Condition*>& but) const {
  for (const Bindings* included : included_) {
    Bindings point = *included;
    for (const Axis& implied : implied_) {
      if (find_binding(point, implied.name) == nullptr) point.emplace_back(implied.name, implied.values.front());
    }
    const bool avoided = std::any_of(but.begin(), but.end(), [&](const Condition* other) { return matches(*other, point); });
    if (matches(condition, point) && !avoided) return point;
  }
  const std::optional<RowCondition> wanted = rows_of(condition);
  if (!wanted || !product_matches({})) return std::nullopt;
  std::vector<RowCondition> others;
  for (const Condition* other : but) {
    if (auto rows = rows_of(*other)) others.push_back(*std::move(rows));
  }
  Search search{*this, *wanted, {}, {}, {}, 0};
  for (const RowCondition& exclude : excludes_) search.avoid.push_back(&exclude);
  for (const RowCondition& other : others) search.avoid.push_back(&other);
  search.collect_blocks();
  switch (search.descend(0, search.avoid)) {
    case Search::Answer::none:
      return std::nullopt;
    case Search::Answer::found:
      return search.point();
    case Search::Answer::too_long:
      return Bindings{};
  }
  return std::nullopt;
}

}  // namespace hpcbench
