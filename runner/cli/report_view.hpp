#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commandline/command.hpp"
#include "report/table.hpp"
#include "store/store.hpp"
#include "study/study.hpp"

namespace hpcbench {

/// What a report or a plot is asked to show, beside the study: each of these goes before the same key of the file's `report`.
struct ViewOptions {
  std::string metric;
  std::vector<std::string> columns;  // each a list with commas
  std::string group_by, where, sort, time_unit, speedup_style;
  bool no_continued = false;
  bool orphans = false;
  bool methods = false;
  bool provenance = false;
  bool whole_lists = false;  // as in ReportOptions
};

/// --metric, --where, --sort, --group-by, --time-unit, --orphans: what plots know, too.
void add_view_options(commandline::Command& command, ViewOptions& options);
/// --columns, --speedup-style, --methods, --provenance: what only tables have.
void add_table_options(commandline::Command& command, ViewOptions& options);

/// The table of a study as it was asked for. `study.experiment.report` takes what the options say. InputError for names that
/// are none; UnavailableError where no row has a run.
Table view_study(Study& study, const StudyOptions& study_options, const ViewOptions& options);

/// Files that the kept runs of a study executed and whose content differs now.
std::vector<ChangedFile> changed_files_of(const Study& study, const Store& store);

/// A list with commas; a comma within a heading is written `\,`.
std::vector<std::string> split_columns(const std::string& text);

}  // namespace hpcbench
