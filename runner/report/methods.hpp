#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/samples.hpp"

namespace hpcbench {

bool has_warning(const Table& table, std::string_view code);

/// What a metric's clock measures, where hpcbench knows; else empty.
std::string describe_clock(const std::string& metric, const Experiment& experiment);

/// The twelve rules of Hoefler and Belli, "Scientific benchmarking of parallel computing systems" (SC 2015), in our words, each
/// judged by what this table shows.
std::vector<ReportingRule> judge_rules(const Table& table, const WarningContext& context);

/// `3 runs were set aside by hand and do not count: backup ran (1), measured again (2)`; empty if there are none.
std::string describe_set_aside(const Table& table);

}  // namespace hpcbench
