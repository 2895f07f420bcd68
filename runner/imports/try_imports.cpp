#include "imports/try_imports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/files.hpp"
#include "base/text.hpp"
#include "ingest/attempt_record.hpp"
#include "ingest/imported.hpp"

namespace hpcbench {

namespace fs = std::filesystem;

namespace {

std::string describe_sources(const std::vector<ImportedSource>& sources) {
  if (sources.empty()) return "";
  const ImportedSource& first = sources.front();
  std::string text = fs::path(first.path).lexically_proximate(fs::current_path()).string();
  if (text.starts_with("..")) text = first.path;
  if (first.line) text += fmt::format(":{}", *first.line);
  return sources.size() == 1
             ? text
             : fmt::format("{} and {}", text, counted(static_cast<long long>(sources.size()) - 1, "more", "more"));
}

TriedRun tried_run(const Study& study, const std::string& folder) {
  const AttemptRecord record = read_attempt(folder);
  TriedRun run;
  Bindings varied;
  for (const auto& [name, value] : record.axes) {
    if (std::find(study.plan.varied.begin(), study.plan.varied.end(), name) != study.plan.varied.end())
      varied.emplace_back(name, value);
  }
  run.point = describe(varied);
  for (const char* const name : {"id", "run", "repeat"}) {
    const auto fact = record.facts.find(name);
    if (fact != record.facts.end() && run.name.empty()) run.name = fact->second;
  }
  run.outcome = to_string(record.state);
  if (record.reason) run.outcome += fmt::format(" ({})", *record.reason);
  for (const auto& [name, value] : record.metrics) run.metrics.push_back(fmt::format("{}={}", name, value));
  const auto imported = parse_imported(read_file_if_there(folder + '/' + kImportedFile).value_or(""));
  if (imported) run.source = describe_sources(imported->sources);
  run.warnings = record.warnings;
  return run;
}

}  // namespace

TriedImports try_imports(const Study& study, const ImportPlan& plan, ImportOrigin origin) {
  const ScopedFolder folder("hpcbench-import");
  Study tried = study;
  tried.results_root = folder.path();
  tried.results = folder.path() + '/' + study.experiment.name;
  const ImportResult result = import_runs(tried, plan, origin, false);
  TriedImports imports{{}, plan.problems, plan.notes};
  imports.problems.insert(imports.problems.end(), result.problems.begin(), result.problems.end());
  imports.notes.insert(imports.notes.end(), result.notes.begin(), result.notes.end());
  for (const std::string& path : result.paths) imports.runs.push_back(tried_run(tried, tried.results + '/' + path));
  return imports;
}

std::string tried_runs_text(const std::vector<TriedRun>& runs) {
  std::vector<std::vector<std::string>> rows = {{"point", "run", "outcome", "metrics", "source"}};
  for (const TriedRun& run : runs) rows.push_back({run.point, run.name, run.outcome, join(run.metrics, " "), run.source});
  for (std::vector<std::string>& row : rows) {
    for (std::string& cell : row) cell = cell.empty() ? "-" : printable(cell);
  }
  return aligned_rows(rows);
}

}  // namespace hpcbench
