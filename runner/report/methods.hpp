#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/samples.hpp"

namespace hpcbench {

bool has_warning(const Table& table, std::string_view code);

/// Returns what a metric's clock measures, if hpcbench knows; else empty.
std::string describe_clock(const std::string& metric, const Experiment& experiment);

/// Returns the twelve rules of Hoefler and Belli, "Scientific benchmarking of parallel computing systems" (SC 2015), in our
/// words, each judged by this table.
std::vector<ReportingRule> judge_rules(const Table& table, const WarningContext& context);

/// Returns `3 runs were set aside by hand and do not count: backup ran (1), measured again (2)`; empty if there are none.
std::string describe_set_aside(const Table& table);

}  // namespace hpcbench
