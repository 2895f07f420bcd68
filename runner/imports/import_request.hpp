#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "study/study.hpp"

namespace hpcbench {

/// One run to import: its point, its sources, and what the user says of it.
struct ImportRequest {
  std::string where;              // in messages: `study.yaml:40:5`, `runs.csv:17`, `baseline_8BS.out`
  std::size_t configuration = 0;  // index into the plan
  std::vector<std::string> files;
  /// The line of a table that the run is: it stands for the table among the sources.
  struct TableLine {
    std::string table;  // absolute path
    long long line = 0;
    std::string text;  // the header and this line
  };
  std::optional<TableLine> line;
  /// The table's name for the run, by the columns `id` and `run`: lines with the same one are one run. A `run` belongs to its
  /// point, as it may number the repeats of each.
  std::optional<std::string> id;
  /// The names in the paths of its files. Another name is another run, though its files may have the same contents. Empty
  /// where `files` has no names.
  std::string name;
  std::vector<Metric> metrics;
  std::vector<GivenValue> values;
  std::map<std::string, std::string> facts;
  std::optional<std::string> outcome, statistic, note;
  std::optional<std::string> outcome_word;  // for which `outcome` stands
  std::optional<int> n;
};

/// What `import:` of a study asks for; a missing source is a message and costs only itself. Under a profile or --set, imports
/// of the file are of the points that the file itself has: one whose parameters are others is another configuration.
struct ImportPlan {
  std::vector<ImportRequest> requests;
  std::vector<std::string> problems;  // `study.yaml:40:5: error: ...`
  std::vector<std::string> notes;  // globs without files, lines of points that a profile left out, columns that nothing reads
  std::vector<std::pair<std::string, std::string>> missing;  // place and pattern of files that do not exist
  bool whole = true;             // every file and every line is there: what else was imported earlier is asked for no more
  std::set<std::string> read;    // absolute paths of all files that were found
  std::set<std::string> broken;  // those of them of which something is wrong
};
ImportPlan plan_imports(const Study& study);

/// `ddp,nodes=2`: values alone where exactly one axis has them. The one point that it names; InputError if there is none, or
/// several.
std::size_t find_point(const Plan& plan, const std::string& text);

/// Name and text of values, as a person writes them; beside axes the sizes `gpus` and `ranks`. Indices of the points that have
/// all of them.
using NamedTexts = std::vector<std::pair<std::string, std::string>>;
std::vector<std::size_t> find_points(const Plan& plan, const NamedTexts& values);
/// Why `points` are not one: `no point has strategy=ddp, nodes=3`, `2 points have ...`; empty if they are.
std::string why_not_one(const Plan& plan, const NamedTexts& values, const std::vector<std::size_t>& points);

/// Keeps one request of those that are one run, as their lines have one id, with a note; a problem where such lines differ.
/// Marks lines that are equal and have no id by the fact `equal_lines`, which names them.
void merge_equal_runs(ImportPlan& plan);

/// Values become values in the unit that `metrics` declares. Requests with a negative time, or whose unit does not convert to
/// that, or to the unit of an earlier request, are left out, with a problem.
void convert_given_units(const Experiment& experiment, ImportPlan& plan);

/// ` (`Train_s` is given: write `train_s`)`: one of the given names that differs from the metric by a slip; empty without.
std::string other_spelling_of(const std::string& metric, const std::vector<std::string>& given);

/// By the unit that was given, else by the metric's name.
bool is_negative_time(const GivenValue& given);

/// The fact that lists the equal lines of a table: `runs.csv:2, runs.csv:5`.
inline constexpr const char* kEqualLinesFact = "equal_lines";

/// The runs of a table. `inherited`: its lines need not have points.
void plan_table(const Study& study, const Import& import, const std::string& table, bool inherited, ImportPlan& plan);

}  // namespace hpcbench
