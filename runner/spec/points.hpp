#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/value.hpp"
#include "spec/parsed_experiment.hpp"

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
  /// Axes whose values vary together: one of `matrix`, or a block of `zip`.
  struct Block {
    std::vector<const Axis*> axes;
    std::size_t rows = 0;
  };
  struct AxisPlace {
    std::size_t block = 0;
    const Axis* axis = nullptr;
    std::unordered_map<std::string_view, std::vector<std::size_t>> rows_of;  // canonical value -> rows of the block
  };
  /// A condition on the product: the rows of each block that it names, ascending. Absent: it can match nothing.
  struct RowCondition {
    std::vector<std::pair<std::size_t, std::vector<std::size_t>>> blocks;  // ascending by block
  };
  struct Search;
  /// An exclude that is an expression: its names are looked up once.
  struct ExpressionExclude {
    struct Source {
      const Axis* axis = nullptr;
      std::size_t block = 0;
      std::optional<Value> constant = {};
      const char* per_node = nullptr;  // nodes times this axis: gpus, ranks
    };
    const LocatedExpression* expression = nullptr;
    std::vector<Source> sources;           // of its names
    std::vector<std::size_t> blocks = {};  // that it depends on
  };

  void add_block(Block block);
  void add_exclude(const LocatedExpression& expression, const Bindings& parameters);
  std::optional<RowCondition> rows_of(const Condition& condition) const;

  std::vector<Axis> implied_;  // nodes and gpus_per_node where the parsed experiment has none
  std::vector<Block> blocks_;
  std::unordered_map<std::string_view, AxisPlace> places_;
  std::vector<RowCondition> excludes_;
  std::vector<ExpressionExclude> expression_excludes_;
  std::vector<const Bindings*> included_;
  std::unordered_map<std::string, std::unordered_map<std::string, bool>> included_values_;
  long long product_size_ = 1;
  bool has_product_ = false;
};

}  // namespace hpcbench
