#include "spec/points.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.hpp"

namespace hpcbench {

namespace {

constexpr long long kMostSteps = 5'000'000;

}  // namespace

PointSpace::PointSpace(const ParsedExperiment& parsed)
    : names_(parsed.axis_names()), parameters_(parsed.experiment.work.parameters) {
  has_product_ = !parsed.matrix.empty() || !parsed.zip.empty();
  implied_.reserve(2);
  for (const ParsedAxis& axis : parsed.matrix) add_block({&axis.axis});
  for (const std::vector<ParsedAxis>& zipped : parsed.zip) {
    std::vector<const Axis*> axes;
    for (const ParsedAxis& axis : zipped) axes.push_back(&axis.axis);
    add_block(std::move(axes));
  }
  for (const ParsedPoint& point : parsed.include) {
    included_.push_back(&point.point);
    for (const auto& [name, value] : point.point) included_values_[name][value.canonical()] = true;
  }
  const Point implied = implied_point(names_);
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const std::string& name = names_[i];
    const bool is_implied = name == "nodes" || name == "gpus_per_node";
    if (!is_implied || places_.contains(name) || (!has_product_ && included_values_.contains(name))) continue;
    implied_.push_back(Axis{name, {implied[i]}});
    add_block({&implied_.back()});
  }
  if (!has_product_) product_size_ = 0;
  for (const ParsedCondition& exclude : parsed.exclude) {
    if (exclude.expression) {
      add_exclude(*exclude.expression);
    } else if (rows_of(exclude.condition)) {
      excludes_.push_back(&exclude.condition);
    }
  }
}

void PointSpace::add_block(std::vector<const Axis*> axes) {
  const AxisBlock& block = blocks_.emplace_back(std::move(axes), names_);
  for (const Axis* axis : block.axes) {
    AxisPlace place{blocks_.size() - 1, axis, {}};
    for (std::size_t row = 0; row < axis->values.size(); ++row) place.rows_of[axis->values[row].canonical()].push_back(row);
    places_.emplace(axis->name, std::move(place));
  }
  const auto rows = static_cast<long long>(block.rows.size());
  product_size_ = rows > 0 && product_size_ > kMany / rows ? kMany : product_size_ * rows;
}

/// One that names what is not there is left out: it has its diagnostic.
void PointSpace::add_exclude(const LocatedExpression& expression) {
  std::set<std::string> axes;
  for (const NameUse& use : expression.expression().names()) {
    const char* const each = use.name == "gpus" ? "gpus_per_node" : use.name == "ranks" ? kRanksPerNode : "";
    if (places_.contains(use.name)) {
      axes.insert(use.name);
    } else if (find_binding(parameters_, use.name) == nullptr) {
      if (!places_.contains("nodes") || !places_.contains(each)) return;
      axes.insert({"nodes", each});
    }
  }
  expression_excludes_.emplace_back(expression, names_, std::vector<std::string>());
  expression_axes_.merge(axes);
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

std::optional<PointSpace::BlockRows> PointSpace::rows_of(const Condition& condition) const {
  if (!has_product_ || product_size_ == 0) return std::nullopt;
  BlockRows result;
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
    const auto [of_block, is_new] = result.try_emplace(found->second.block, rows);
    if (!is_new) {
      std::vector<std::size_t> both;
      std::set_intersection(of_block->second.begin(), of_block->second.end(), rows.begin(), rows.end(),
                            std::back_inserter(both));
      of_block->second = std::move(both);
    }
    if (of_block->second.empty()) return std::nullopt;
  }
  return result;
}

bool PointSpace::product_matches(const Condition& condition) const { return rows_of(condition).has_value(); }

/// With the rows that are wanted. Of the other blocks any row will do: they get the first.
std::vector<AxisBlock> PointSpace::blocks_that_matter(const BlockRows& wanted,
                                                      const std::vector<const Condition*>& avoided) const {
  std::vector<bool> matters(blocks_.size(), false);
  for (const Condition* condition : avoided) {
    for (const auto& clause : *condition) matters[places_.at(clause.first).block] = true;
  }
  for (const std::string& axis : expression_axes_) matters[places_.at(axis).block] = true;
  std::vector<AxisBlock> blocks;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const auto found = wanted.find(i);
    if (found == wanted.end() && !matters[i]) continue;
    blocks.push_back(blocks_[i]);
    if (found != wanted.end()) blocks.back().rows = found->second;
  }
  return blocks;
}

bool PointSpace::is_excluded(const Point& point, long long& steps) const {
  return std::any_of(expression_excludes_.begin(), expression_excludes_.end(), [&](const PointExpression& exclude) {
    try {
      return exclude.holds({point, parameters_, {}});
    } catch (const InputError&) {  // make_plan says so
      steps += 100;                // an exception costs as much
      return false;
    }
  });
}

std::optional<Bindings> PointSpace::find_point(const Condition& condition, const std::vector<const Condition*>& but) const {
  for (const Bindings* included : included_) {
    Bindings point = *included;
    for (const Axis& implied : implied_) {
      if (find_binding(point, implied.name) == nullptr) point.emplace_back(implied.name, implied.values.front());
    }
    const bool avoided = std::any_of(but.begin(), but.end(), [&](const Condition* other) { return matches(*other, point); });
    if (matches(condition, point) && !avoided) return point;
  }
  const std::optional<BlockRows> wanted = rows_of(condition);
  if (!wanted) return std::nullopt;
  std::vector<const Condition*> others = excludes_;
  std::copy_if(but.begin(), but.end(), std::back_inserter(others),
               [&](const Condition* other) { return product_matches(*other); });
  std::vector<PointCondition> avoid;
  for (const Condition* other : others) avoid.emplace_back(*other, names_);
  const std::vector<AxisBlock> blocks = blocks_that_matter(*wanted, others);
  Point point = implied_point(names_);
  std::optional<Bindings> found;
  long long steps = 0;
  each_point(blocks, point, [&] {
    steps += 1 + static_cast<long long>(avoid.size());
    const auto is_avoided = [&](const PointCondition& each) { return each.matches(point); };
    const bool is_too_long = steps > kMostSteps;
    if (!is_too_long && (std::any_of(avoid.begin(), avoid.end(), is_avoided) || is_excluded(point, steps))) return true;
    found.emplace();
    for (const AxisBlock& block : is_too_long ? std::vector<AxisBlock>() : blocks) {
      for (std::size_t i = 0; i < block.axes.size(); ++i) found->emplace_back(block.axes[i]->name, point[block.columns[i]]);
    }
    return false;
  });
  return found;
}

}  // namespace hpcbench
