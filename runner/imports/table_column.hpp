#pragma once

#include <string>
#include <vector>

#include "study/study.hpp"

namespace hpcbench {

/// The meaning of a column of an imported table.
struct TableColumn {
  enum class Kind { axis, file, outcome, statistic, n, note, id, fact, rank_times, metric, ignored, wrong };
  Kind kind = Kind::wrong;
  std::string name;
  std::string unit;               // of a metric, or of a published figure
  bool is_mapped = false;         // by `columns` or `values`
  std::string unit_in_name = {};  // `ms` of the heading time_ms, where `values` maps it to a metric of another name
};

/// `train_s [min]`, `train_s (min)`, `fact:device`, `strategy`. Words of hpcbench and axes count in any case of letters. With
/// `columns`, other columns than those, axes and the metrics of the study are ignored.
TableColumn column_of(const std::string& written, const std::vector<std::string>& axes, const Import& import,
                      const Experiment& experiment);

/// `eval/loss` -> `eval_loss`: how a metric of that column may be called.
std::string suggested_name(const std::string& heading);

}  // namespace hpcbench
