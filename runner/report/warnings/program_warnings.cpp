#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/text.hpp"
#include "report/warnings/warnings.hpp"

namespace hpcbench {
namespace {

constexpr std::string_view kProgram = "program:";

/// Returns the part of a fact that depends on the content of a file: of `program:NAME`, its hash without the path.
std::string content_of(const std::string& name, const std::string& value) {
  return name.starts_with(kProgram) ? value.substr(0, value.find(' ')) : value;
}

/// Returns how many of the measured runs have each value of a fact.
std::map<std::string, int> runs_by_content(const Sample& sample, const std::string& name) {
  std::map<std::string, int> runs;
  for (const AttemptRecord* run : sample.measured) {
    if (const auto fact = run->facts.find(name); fact != run->facts.end()) ++runs[content_of(name, fact->second)];
  }
  return runs;
}

/// Returns `2 versions of train.py (6 and 6 runs)`; empty for one version.
std::string describe_versions(const Sample& sample, const std::string& fact, const std::string& shown) {
  const std::map<std::string, int> runs = runs_by_content(sample, fact);
  if (runs.size() < 2) return "";
  std::vector<std::string> counts;
  for (const auto& [content, count] : runs) counts.push_back(std::to_string(count));
  std::sort(counts.begin(), counts.end());
  return fmt::format("{} versions of {} ({} runs)", runs.size(), shown, join(counts, " and "));
}

/// Returns one text for each file that runs of the row had in several versions; if files are only in some runs, one text for
/// all of a kind.
std::vector<std::string> mixed_files(const Sample& sample) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kKindsOfFiles = {
      std::pair("code", "the files in `command`"), std::pair("deck", "the files in `files`"),
      std::pair("inputs", "the inputs of a preparation")};
  std::vector<std::string> texts;
  for (const auto& [kind, shown] : kKindsOfFiles) {
    if (!is_mixed_program(sample, kind)) continue;
    const std::size_t before = texts.size();
    const std::string prefix = std::string(kind) + ":";
    for (auto fact = sample.row.facts.lower_bound(prefix); fact != sample.row.facts.end() && fact->first.starts_with(prefix);
         ++fact) {
      std::string text = describe_versions(sample, fact->first, fact->first.substr(prefix.size()));
      if (!text.empty()) texts.push_back(std::move(text));
    }
    if (texts.size() == before) texts.push_back(describe_versions(sample, std::string(kind), std::string(shown)));
  }
  for (auto fact = sample.row.facts.lower_bound(kProgram); fact != sample.row.facts.end() && fact->first.starts_with(kProgram);
       ++fact) {
    std::string text = describe_versions(sample, fact->first, fact->first.substr(kProgram.size()));
    if (!text.empty()) texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace

bool is_mixed_program(const Sample& sample, std::string_view fact) {
  if (fact != "code" && fact != "deck" && fact != "inputs") return false;
  const auto values = sample.row.facts.find(fact);
  return values != sample.row.facts.end() && runs_by_content(sample, std::string(fact)).size() > 1;
}

void warn_mixed_program(const WarningContext& context, Warnings& found) {
  Sightings rows(context);
  for (const Sample* sample : context.shown) {
    const std::vector<std::string> files = mixed_files(*sample);
    if (files.empty()) continue;
    rows.add(sample->row, [&] { return row_label(context.columns, sample->row) + ": " + join(files, ", "); });
  }
  rows.report("mixed-program", "the runs of the row executed different programs, so its median is of neither",
              {"measure all runs of the row with one version (`hpcbench run --again`), or give each version a value of an axis",
               "import each version as a row of its own"},
              found);
}

void warn_changed_program(const WarningContext& context, Warnings& found) {
  std::set<std::string_view> ids;
  std::vector<std::string> texts;
  for (const ChangedFile& file : context.changed_files) {
    ids.insert(file.config_ids.begin(), file.config_ids.end());
    texts.push_back(file.text);
  }
  std::vector<std::string> rows;
  for (const Sample* sample : context.shown) {
    if (ids.contains(sample->row.config_id)) rows.push_back(sample->row.config_id);
  }
  if (rows.empty()) return;
  found.push_back({"changed-program", rows, join(texts, "; "), "the table describes a program that is no longer there",
                   "measure again (`hpcbench run --again`), or give the new version a value of an axis"});
}

void warn_set_aside(const WarningContext& context, Warnings& found) {
  constexpr std::size_t kMostShare = 10;  // one run in this many may be set aside without a warning
  Sightings rows(context);
  for (const Sample* sample : context.shown) {
    const Row& row = sample->row;
    std::set<RunName> all;
    std::set<RunName> chosen;  // `run --again` chooses no runs
    for (const RunValue& run : row.runs) all.insert(run.run);
    for (const RunValue& run : row.set_aside) {
      all.insert(run.run);
      if (!run.again) chosen.insert(run.run);
    }
    if (chosen.size() * kMostShare <= all.size()) continue;
    rows.add(row, [&] { return fmt::format("{}: {} of {} runs", row_label(context.columns, row), chosen.size(), all.size()); });
  }
  rows.report(
      "set-aside", "a table of chosen runs shows the choice: slow runs that are left out make a row look faster",
      same_advice("set runs aside only for a cause that you saw before their times, name it beside the table, or measure "
                  "all runs of the rows again (`hpcbench run --again`)"),
      found);
}

}  // namespace hpcbench
