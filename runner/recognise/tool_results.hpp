#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "spec/starter/flow_yaml.hpp"

namespace hpcbench {

/// A value that each run of a tool has, and the key of an experiment file that reads it.
struct ToolColumn {
  enum class Role {
    parameter,  // what a run was given
    number,     // what a run gave
    either      // a column of a table that does not tell
  };
  Role role = Role::either;
  std::string name;                 // as the tool has it: `optim.lr`, `val/loss`
  FlowYaml source;                  // of a table the heading; of files a source, or the keys of a metric beside `name`
  std::vector<std::string> values;  // of each run; empty: it has none
  std::string unit;                 // of a number; empty if unknown
  std::string better = {};          // of a number: `higher` or `lower`; empty if its unit tells
};

/// The results of a tool, as a study needs them.
struct ToolResults {
  std::string tool;               // `MLflow (file store)`
  std::vector<FlowYaml> entries;  // of `import`, maps; all get the columns
  bool is_table = false;
  std::size_t runs = 0;
  std::vector<ToolColumn> columns;
  std::vector<std::string> required;  // of `success.require`
  std::vector<std::string> left_out;  // what the study does not have, for people
};

/// The experiment file of a tool's results, and what there is to tell a person.
struct ToolStudy {
  std::string text;
  std::string summary;             // `8 runs; axes strategy, gpus_per_node; metrics step_ms, val_loss`
  std::vector<std::string> notes;  // what is left out, and why
};

/// Parameters that vary become axes, those that do not become facts, numbers become metrics. InputError where there are no
/// runs or no numbers. `head`: comments before the first key; `name`: of the study.
ToolStudy study_of_results(const ToolResults& results, const std::string& head, const std::string& name);

}  // namespace hpcbench
