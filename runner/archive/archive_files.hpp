#pragma once

#include <string>
#include <vector>

#include "archive/archive.hpp"
#include "study/study.hpp"

namespace hpcbench {

/// The content of a study's archive, and notes for the user.
struct ArchivePlan {
  LastRun study;  // paths in the archive
  std::vector<ArchiveFile> files;
  std::vector<std::string> notes;
};

/// Returns all files of results/EXPERIMENT but locks, half-written files, links and, without
/// `models`, checkpoints and weights; files in the working directory that a run's metrics read,
/// beside that run; the experiment file, its site, and files of the results folder that `import`
/// names.
ArchivePlan plan_archive(const Study& study, bool models);

}  // namespace hpcbench
