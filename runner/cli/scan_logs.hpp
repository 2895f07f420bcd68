#pragma once

#include <string>
#include <vector>

#include "scan/proposal.hpp"

namespace hpcbench {

/// Which proposals of scans go into an experiment file: those named, else the first few likely ones of the first file that has
/// any. `file` is the glob of their metrics; empty: the name of the scanned file. InputError for a name that no scan has.
std::vector<Proposal> choose_proposals(const std::vector<Scan>& scans, const std::vector<std::string>& names,
                                       const std::string& file);

/// Scans files; `-` is standard input. InputError for a file that cannot be read, or `-` twice.
std::vector<Scan> scan_logs(const std::vector<std::string>& files, std::size_t limit);

/// A new study of logs (with `--from-log`): its text, which `check` accepts. InputError where a log has no numbers.
std::string study_from_logs(const std::string& study, const std::string& file, const std::vector<std::string>& logs);

}  // namespace hpcbench
