#pragma once

#include <map>
#include <string>
#include <vector>

#include "recognise/tool_results.hpp"

namespace hpcbench {

/// The parameters of the results of a tool, sorted by what they are for a study.
struct ToolAxes {
  struct Axis {
    std::string name;                 // of the axis: `gpus_per_node`
    const ToolColumn* column;         // that gives it
    std::vector<std::string> values;  // each once, in order
  };
  std::vector<Axis> axes;
  /// Axes that vary together, by index; each axis is in one group. A group of several has one row for each of its points.
  std::vector<std::vector<std::size_t>> groups;
  std::vector<std::vector<std::vector<std::string>>> rows;  // of each group: values of its axes, point by point
  struct Fact {
    std::string name;
    const ToolColumn* column;
  };
  std::vector<Fact> facts;                       // constants, seeds, parameters that follow from others
  std::map<std::string, std::string> constants;  // name as the tool has it, and value
  std::vector<std::string> notes;
};

/// Decides what columns of tables are that do not tell: texts, numbers that repeat, and names such as `lr` are parameters.
void decide_roles(ToolResults& results);

/// Makes an axis of each parameter with several values, unless it names a run, numbers its repeats, or follows from others.
ToolAxes find_axes(const ToolResults& results);

/// A name as metrics, axes and facts may have it: `val/loss` is val_loss. `used` gets it; a second one of a name ends in `_2`.
std::string name_of_column(const std::string& name, std::vector<std::string>& used);

}  // namespace hpcbench
