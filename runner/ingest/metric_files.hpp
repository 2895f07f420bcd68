#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/metric.hpp"
#include "runfiles/outside_files.hpp"

namespace hpcbench {

/// What decides where the files of a metric are looked for.
struct AttemptPlace {
  std::string folder;
  std::string run_dir;  // in it
  std::string workdir;
  std::optional<std::size_t> outside_globs;  // how many run.json names; absent: made before copies were kept
  std::optional<ChangedBetween> ran;         // when it ran; absent: it has not ended, or nothing says when
  bool has_ended = false;
};

struct MetricFiles {
  std::vector<std::string> files;
  std::string left_out;  // why files that are there, or were, are not read; empty where there is nothing to say
};

/// The files that a metric's glob matches: those in the attempt's folder; else those outside, in the working directory for
/// example. While the attempt runs these are read where they stand. Once it has ended only the copies that were kept then are
/// read: another run may have written the files since. Without copies, files that were last changed while this
/// attempt ran stand for them.
MetricFiles find_metric_files(const std::string& glob, const AttemptPlace& place);

/// What the copies among files of an attempt, named relative to its folder, are copies of: runs that go on at the same time
/// overwrite those of one name.
void add_outside(const std::vector<std::string>& names, std::set<std::string>& outside);

/// For people, of a metric without a value in an ended attempt: the file looked for, where, and its last lines.
std::string explain_missed_metric(const Metric& metric, const std::string& folder);

/// Keeps copies for a job that has ended and kept none (a site's own job script), of files that were last changed while
/// it ran.
void keep_outside_files_late(const std::string& folder);

}  // namespace hpcbench
