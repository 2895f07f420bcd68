#pragma once

#include <string>
#include <vector>

#include "archive/archive.hpp"
#include "study/study.hpp"

namespace hpcbench {

/// What an archive of a study holds, and what a person should know of it.
struct ArchivePlan {
  LastRun study;  // paths in the archive
  std::vector<ArchiveFile> files;
  std::vector<std::string> notes;
};

/// All files of results/EXPERIMENT but locks, half-written files, links and,
/// without `models`, checkpoints and weights; files in the working directory
/// that the metrics of a run are read from, beside that run; the experiment
/// file, its site, and files of the results folder that `import` names.
ArchivePlan plan_archive(const Study& study, bool models);

}  // namespace hpcbench
