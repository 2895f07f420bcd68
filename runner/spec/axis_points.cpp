#include "spec/axis_points.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace hpcbench {

namespace {

std::size_t column_of(const std::string& name, const std::vector<std::string>& axes) {
  return static_cast<std::size_t>(std::find(axes.begin(), axes.end(), name) - axes.begin());
}

void set_row(Point& point, const AxisBlock& block, std::size_t row) {
  for (std::size_t i = 0; i < block.axes.size(); ++i) point[block.columns[i]] = block.axes[i]->values[row];
}

}  // namespace

Point implied_point(const std::vector<std::string>& axes) {
  const bool has_ranks = column_of(kRanksPerNode, axes) < axes.size();
  Point point;
  for (const std::string& axis : axes) point.push_back(Value::from_integer(axis == "gpus_per_node" && has_ranks ? 0 : 1));
  return point;
}

AxisBlock::AxisBlock(std::vector<const Axis*> together, const std::vector<std::string>& names)
    : axes(std::move(together)), rows(axes.front()->values.size()) {
  for (const Axis* axis : axes) columns.push_back(column_of(axis->name, names));
  std::iota(rows.begin(), rows.end(), std::size_t{0});
}

void each_point(const std::vector<AxisBlock>& blocks, Point& point, const std::function<bool()>& visit) {
  std::vector<std::size_t> at(blocks.size(), 0);  // an odometer: the last block turns fastest
  for (const AxisBlock& block : blocks) {
    if (block.rows.empty()) return;
    set_row(point, block, block.rows.front());
  }
  while (visit()) {
    std::size_t digit = blocks.size();
    while (digit > 0 && ++at[digit - 1] == blocks[digit - 1].rows.size()) {
      --digit;
      at[digit] = 0;
      set_row(point, blocks[digit], blocks[digit].rows.front());
    }
    if (digit == 0) return;
    set_row(point, blocks[digit - 1], blocks[digit - 1].rows[at[digit - 1]]);
  }
}

PointCondition::PointCondition(const Condition& condition, const std::vector<std::string>& axes) {
  for (const auto& [name, values] : condition) {
    const std::size_t column = column_of(name, axes);
    if (column == axes.size()) possible_ = false;
    clauses_.push_back({column, values});
  }
}

bool PointCondition::matches(const Point& point) const {
  return possible_ && std::all_of(clauses_.begin(), clauses_.end(), [&](const Clause& clause) {
           return std::find(clause.values.begin(), clause.values.end(), point[clause.axis]) != clause.values.end();
         });
}

}  // namespace hpcbench
