#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/value.hpp"
#include "spec/axis_points.hpp"
#include "spec/parsed_experiment.hpp"
#include "spec/point_expression.hpp"

namespace hpcbench {

/// The points that a parsed experiment asks for: the product of its axes and zip blocks less `exclude`, and the points of
/// `include`. Answers whether there are points of a kind without listing them: a product of a million points costs no more than
/// those of its axes that the question and the excludes name.
class PointSpace {
 public:
  /// `parsed` must outlive it and stay unchanged.
  explicit PointSpace(const ParsedExperiment& parsed);
  PointSpace(const PointSpace&) = delete;
  PointSpace& operator=(const PointSpace&) = delete;

  /// Points of the product before `exclude`; at most `kMany`.
  long long product_size() const { return product_size_; }
  static constexpr long long kMany = 1'000'000'000'000;

  bool has_axis(std::string_view name) const;
  /// Whether some point has this value: of the product, or with `included` of `include` too.
  bool has_value(std::string_view axis, const Value& value, bool included) const;
  /// The first values of an axis, for messages.
  std::vector<Value> some_values(std::string_view axis) const;

  /// Whether a point of the product before `exclude` matches.
  bool product_matches(const Condition& condition) const;
  /// A point that is left after `exclude` (or included), matches, and matches none of `but`: its values on the axes that
  /// matter. After 5 million steps an answer is not worth its time: then the empty point.
  std::optional<Bindings> find_point(const Condition& condition, const std::vector<const Condition*>& but = {}) const;

 private:
  struct AxisPlace {
    std::size_t block = 0;
    const Axis* axis = nullptr;
    std::unordered_map<std::string_view, std::vector<std::size_t>> rows_of;  // canonical value -> rows of the block
  };
  /// Rows of blocks, ascending.
  using BlockRows = std::map<std::size_t, std::vector<std::size_t>>;

  void add_block(std::vector<const Axis*> axes);
  void add_exclude(const LocatedExpression& expression);
  /// The rows of each block that a condition names. Absent: no point of the product matches.
  std::optional<BlockRows> rows_of(const Condition& condition) const;
  std::vector<AxisBlock> blocks_that_matter(const BlockRows& wanted, const std::vector<const Condition*>& avoided) const;
  /// Whether an expression excludes the point; what cannot be computed excludes nothing, and counts as many `steps`.
  bool is_excluded(const Point& point, long long& steps) const;

  const std::vector<std::string> names_;  // of a point's columns
  const Bindings& parameters_;
  std::vector<Axis> implied_;  // nodes and gpus_per_node where the parsed experiment has none
  std::vector<AxisBlock> blocks_;
  std::unordered_map<std::string_view, AxisPlace> places_;
  std::vector<const Condition*> excludes_;  // those that match a point of the product
  std::vector<PointExpression> expression_excludes_;
  std::set<std::string> expression_axes_;  // that these depend on
  std::vector<const Bindings*> included_;
  std::unordered_map<std::string, std::unordered_map<std::string, bool>> included_values_;
  long long product_size_ = 1;
  bool has_product_ = false;
};

}  // namespace hpcbench
