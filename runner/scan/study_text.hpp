#pragma once

#include <string>
#include <vector>

#include "scan/proposal.hpp"

namespace hpcbench {

/// A metric as a line of YAML: `{name: loss, file: train.log, pattern: '\bloss: +(\S+)'}`.
std::string metric_yaml(const Metric& metric);

/// What a proposal's reader found, for a comment: `11 values, first 874, last 1318204; median without the first 1: 1317972`.
std::string describe_values(const Proposal& proposal);

/// An experiment file with further metrics, each below a comment; all else keeps its bytes. InputError with a place where a
/// metric of the name exists, or where `metrics` is written in one line, or in a file that `use` names.
std::string with_metrics(const std::string& text, const std::string& file, const std::vector<Proposal>& proposals);

/// A log and its place as the new experiment file names it.
struct LogOfStudy {
  std::string path;
  std::string label;  // its value of the axis `log`
};

/// A study that imports logs, each one configuration, with these metrics; its table has all of them.
std::string study_of_logs(const std::string& name, const std::vector<LogOfStudy>& logs, const std::vector<Proposal>& proposals);

}  // namespace hpcbench
