#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/error.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "imports/import_runs.hpp"
#include "report/comparison/comparison.hpp"
#include "study/index.hpp"
#include "study/study.hpp"

namespace hpcbench {

namespace {

struct CompareArguments {
  std::string a, b;
  StudyOptions study;  // what holds for both sides
  std::vector<std::string> results = {"results"};
  std::string metric, margin = "5%", fail_if, format = "text";
};

/// `FILE`, `EXPERIMENT`, and either with `@COMMIT`.
struct SideReference {
  std::string what;
  std::string commit;  // empty: all runs
};

SideReference parse_side(const std::string& text) {
  if (text.empty() || std::filesystem::exists(text)) return {text, ""};
  const std::size_t at = text.rfind('@');
  if (at == std::string::npos) return {text, ""};
  const SideReference side{text.substr(0, at), text.substr(at + 1)};
  if (side.commit.empty()) throw InputError(fmt::format("error: `{}`: no commit after `@`", text));
  return side;
}

/// Keeps the runs of one commit, given by its first digits.
void keep_commit(std::vector<AttemptRecord>& records, const SideReference& side) {
  std::vector<std::string> there;
  for (const AttemptRecord& record : records) {
    const auto commit = record.facts.find("commit");
    if (commit != record.facts.end() && std::find(there.begin(), there.end(), commit->second) == there.end())
      there.push_back(commit->second);
  }
  std::erase_if(records, [&](const AttemptRecord& record) {
    const auto commit = record.facts.find("commit");
    return commit == record.facts.end() || !commit->second.starts_with(side.commit);
  });
  if (!records.empty()) return;
  throw InputError(fmt::format("error: no run of {} was made at commit `{}`; there are: {}", side.what, side.commit,
                               there.empty() ? "(runs that name no commit)" : join(there, ", ")));
}

struct Side {
  Table table;
  std::string results;  // the study's folder
};

/// Sets `broken` where imports of the side are.
Side load_side(const SideReference& side, const std::string& results, const CompareArguments& arguments, bool& broken) {
  StudyOptions options = arguments.study;
  options.results = results;
  options.file = side.what;
  Study study = load_study(options);
  take_in_imports(study);
  broken = broken || study.broken_imports;
  const IndexView index = open_for_reading(study);
  std::vector<AttemptRecord> records = index.store.counting_attempts(study.experiment.name, true);
  if (!side.commit.empty()) keep_commit(records, side);
  ReportOptions report;
  report.tried_again = attempts_tried_again(study.experiment, index.states);
  report.all_repeats = !side.commit.empty();  // the commit says which runs count
  if (!arguments.metric.empty()) report.metric = arguments.metric;
  if (!options.only.empty()) report.only.push_back(parse_selection(options.only, "--only"));
  return {build_table(study.experiment, study.plan, std::move(records), report), study.results};
}

std::string name_of_side(const SideReference& side, const std::string& results, bool several_results) {
  std::string name = side.what.empty() ? "what was run last" : side.what;
  if (!side.commit.empty()) name += " at commit " + side.commit;
  return several_results ? name + " in " + results : name;
}

/// `--results` takes all that stands behind it: files among that are A and B.
void put_arguments_right(CompareArguments& arguments) {
  std::vector<std::string> named;
  for (std::size_t i = 1; i < arguments.results.size(); ++i) {
    if (std::filesystem::is_regular_file(arguments.results[i])) named.push_back(arguments.results[i]);
  }
  std::erase_if(arguments.results,
                [&](const std::string& folder) { return std::find(named.begin(), named.end(), folder) != named.end(); });
  for (const std::string& side : {arguments.a, arguments.b}) {
    if (!side.empty()) named.push_back(side);
  }
  if (named.size() > 2) throw InputError("error: more than two experiments are named; compare two");
  arguments.a = named.empty() ? "" : named.front();
  arguments.b = named.size() < 2 ? "" : named.back();
  if (arguments.results.size() > 2) throw InputError("error: --results names more than two folders; compare two");
  for (const std::string& folder : arguments.results) {
    if (!std::filesystem::is_directory(folder)) throw InputError(fmt::format("error: there is no folder {}", folder));
  }
  if (arguments.b.empty() && arguments.results.size() < 2) {
    throw InputError(
        "error: one side is missing; name two experiments, EXPERIMENT@COMMIT twice, or one with --results DIR1 DIR2");
  }
  if (arguments.b.empty()) arguments.b = arguments.a;
}

int compare_sides(CompareArguments arguments) {
  ComparisonOptions options;
  options.margin = parse_share(arguments.margin, "--margin");
  if (!arguments.fail_if.empty()) options.fail_if = parse_fail_rule(arguments.fail_if);
  put_arguments_right(arguments);
  const SideReference a = parse_side(arguments.a);
  const SideReference b = parse_side(arguments.b);
  const bool several = arguments.results.size() > 1;
  options.a = name_of_side(a, arguments.results.front(), several);
  options.b = name_of_side(b, arguments.results.back(), several);
  bool broken = false;
  const Side of_a = load_side(a, arguments.results.front(), arguments, broken);
  const Side of_b = load_side(b, arguments.results.back(), arguments, broken);
  if (of_a.results == of_b.results && a.commit == b.commit) {
    throw InputError(fmt::format("error: both sides are the same runs, those in {}; name two studies, or {}@COMMIT twice",
                                 of_a.results, a.what));
  }
  const Comparison comparison = compare_tables(of_a.table, of_b.table, options);
  if (arguments.format == "json") {
    print_data(comparison_json(comparison));
  } else {
    print_data(arguments.format == "markdown" ? comparison_markdown(comparison) : comparison_text(comparison));
  }
  if (broken) return kBrokenImports;
  return comparison.fails ? 1 : 0;
}

}  // namespace

void add_compare(commandline::Command& command) {
  const auto arguments = std::make_shared<CompareArguments>();
  command.add_option("A", arguments->a,
                     "an experiment file, or the name of an experiment; with @COMMIT only the runs of that commit");
  command.add_option("B", arguments->b, "what is compared with it; may be left out where --results names two folders");
  command.add_option("--results", arguments->results, "folder of all results, or one for A and one for B")
      .shows_initial()
      .value_name("DIR [DIR]")
      .takes_all_that_follow();  // folders, and what comes behind them
  command.add_option("--profile", arguments->study.profiles, "overlay of the files' `profiles`; again for one on top of it")
      .value_name("NAME");
  command.add_option("--site", arguments->study.site, "what is true of the cluster: a name in sites/ or a path")
      .value_name("SITE");
  command.add_option("--set", arguments->study.settings, "set one value in both, as in `--set report.confidence=0.9`")
      .value_name("A.B=YAML");
  command
      .add_option("--only", arguments->study.only,
                  "only the configurations that match: `strategy=ddp,nodes=1|2`, or `nodes * tp >= 4`")
      .value_name("AXIS=VALUE,...");
  command.add_option("--metric", arguments->metric, "train_s, wall_s or any metric of the runs").value_name("NAME");
  command.add_option("--margin", arguments->margin, "how far apart two configurations may be and still be equivalent")
      .shows_initial()
      .value_name("SHARE");
  command
      .add_option("--fail-if", arguments->fail_if,
                  "exit 1 where this is shown of a row: `slower > 5%`, `faster`, `higher`, `lower`, `not equivalent`, "
                  "`not resolved`, `missing`")
      .value_name("RULE");
  command.add_option("--format", arguments->format, "text, markdown or json")
      .shows_initial()
      .one_of({"text", "markdown", "json"});
  command.action([=] { return compare_sides(*arguments); });
}

}  // namespace hpcbench
