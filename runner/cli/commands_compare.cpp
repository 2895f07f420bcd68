#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/report_view.hpp"
#include "imports/import_runs.hpp"
#include "ingest/imported.hpp"
#include "report/comparison/comparison.hpp"
#include "study/index.hpp"
#include "study/last_run.hpp"
#include "study/study.hpp"

namespace hpcbench {

namespace {

struct CompareArguments {
  std::string a, b;
  StudyOptions study;  // what holds for both sides
  std::vector<std::string> results = {"results"};
  std::string metric, margin = "5%", format = "text";
  std::vector<std::string> fail_if;
  bool allow_missing = false;
};

constexpr const char* kAside = "aside";

/// `FILE`, `EXPERIMENT`, and either with `@COMMIT` or `@aside`.
struct SideReference {
  std::string what;
  std::string commit;  // empty: all runs; `aside`: those that were set aside

  bool is_aside() const { return commit == kAside; }
};

SideReference parse_side(const std::string& text) {
  if (text.empty() || std::filesystem::exists(text)) return {text, ""};
  const std::size_t at = text.rfind('@');
  if (at == std::string::npos) return {text, ""};
  const SideReference side{text.substr(0, at), text.substr(at + 1)};
  if (side.commit.empty()) throw InputError(fmt::format("error: `{}`: no commit after `@`", text));
  return side;
}

bool is_of_commit(const AttemptRecord& record, const SideReference& side) {
  const auto commit = record.facts.find("commit");
  return commit != record.facts.end() && commit->second.starts_with(side.commit);
}

[[noreturn]] void refuse_folder(const std::string& folder) {
  throw InputError(fmt::format("error: there is no folder {}", folder));
}

/// Keeps the runs of one commit, given by its first digits.
void keep_commit(std::vector<AttemptRecord>& records, const SideReference& side) {
  std::vector<std::string> there;
  for (const AttemptRecord& record : records) {
    const auto commit = record.facts.find("commit");
    if (commit != record.facts.end() && std::find(there.begin(), there.end(), commit->second) == there.end())
      there.push_back(commit->second);
  }
  std::erase_if(records, [&](const AttemptRecord& record) { return !is_of_commit(record, side); });
  if (!records.empty()) return;
  throw InputError(fmt::format("error: no run of {} was made at commit `{}`; there are: {}", side.what, side.commit,
                               there.empty() ? "(runs that name no commit)" : join(there, ", ")));
}

/// One side's runs, of which a table of any metric is built.
struct Side {
  Study study;
  std::vector<AttemptRecord> records;
  ReportOptions report;
  std::string note;  // on the choice of its runs; empty: none

  Table table() const { return build_table(study.experiment, study.plan, records, report); }
};

/// Reads the file of one side; nothing is imported yet.
Study load_side_study(const SideReference& side, const std::string& results, const CompareArguments& arguments) {
  StudyOptions options = arguments.study;
  options.results = results;
  options.file = side.what;
  options.looks_back = true;
  Study study = load_study(options);
  // The first command makes the folder of imports.
  if (study.experiment.imports.empty() && !std::filesystem::is_directory(study.results_root)) refuse_folder(results);
  return study;
}

/// The experiment file that imported these results: beside the imported files, and of this name. Empty if there is none.
std::string file_beside_imports(const std::string& results, const std::string& name) {
  namespace fs = std::filesystem;
  for (const AttemptKey& key : imported_attempts(results)) {
    const auto imported = parse_imported(read_file_if_there(results + "/" + to_string(key) + "/" + kImportedFile).value_or(""));
    if (!imported || imported->sources.empty()) continue;
    const fs::path candidate = fs::path(imported->sources.front().path).parent_path() / name;
    std::error_code error;
    if (!fs::is_regular_file(candidate, error)) return "";
    const std::string near = candidate.lexically_relative(fs::current_path()).string();
    return near.starts_with("..") ? candidate.string() : near;
  }
  return "";
}

/// `hpcbench compare A.yaml B.yaml --results DIR DIR`, with the files as far as they are known.
std::string compare_command(std::string a, std::string b, const std::vector<std::string>& results) {
  std::error_code error;
  if (a.empty()) a = "A.yaml";
  if (b.empty() || std::filesystem::equivalent(a, b, error)) b = "B.yaml";
  std::string command = "hpcbench compare " + shell_quote(a) + " " + shell_quote(b);
  if (results.size() == 1 && results.front() == StudyOptions{}.results) return command;
  command += " --results";
  for (const std::string& folder : results) command += " " + shell_quote(folder);
  return command;
}

/// A results folder does not know the experiment file of runs that were only imported.
void refuse_names_of_imports(const CompareArguments& arguments) {
  std::string unknown;
  const auto file_of = [&](const std::string& side, const std::string& folder) {
    const std::string root = std::filesystem::absolute(folder).lexically_normal().string();
    const std::vector<std::string> studies = experiments_on_disk(root);
    const bool is_study = std::find(studies.begin(), studies.end(), side) != studies.end();
    if (!is_study || std::filesystem::is_regular_file(side) || read_last_run_of(root, side)) return side;
    unknown = unknown.empty() ? side : unknown;
    return file_beside_imports(root + "/" + side, side + ".yaml");
  };
  const std::string a = file_of(arguments.a, arguments.results.front());
  const std::string b = file_of(arguments.b, arguments.results.back());
  if (unknown.empty()) return;
  throw InputError(
      fmt::format("error: `{}` holds only imported runs\n  = name the experiment file of each side, for example `{}`", unknown,
                  compare_command(a, b, arguments.results)));
}

/// Two results folders of one file that only imports hold the same imported values.
void refuse_same_imports(const Study& a, const Study& b, const CompareArguments& arguments) {
  if (a.source.file != b.source.file || b.experiment.imports.empty() || b.experiment.runs_anything()) return;
  const std::string name = std::filesystem::path(a.source.file).filename().string();
  throw InputError(fmt::format(
      "error: {} only imports runs, so both results folders would hold the same values\n  = name the file of each side: `{}`",
      a.experiment.path,
      compare_command(file_beside_imports(a.results, name), file_beside_imports(b.results, name), arguments.results)));
}

/// Both sides are the same runs.
void refuse_same_runs(const Study& a, const Study& b, const SideReference& side, const CompareArguments& arguments) {
  if (a.source.file != b.source.file && !a.from_last_run && !b.from_last_run) {
    throw InputError(fmt::format(
        "error: both files are the study {}, whose runs are in {}\n  = give each file an `experiment` of its own, or each a "
        "folder: `hpcbench compare {} {} --results DIR1 DIR2`",
        a.experiment.name, a.results, shell_quote(arguments.a), shell_quote(arguments.b)));
  }
  throw InputError(fmt::format("error: both sides are the same runs, those in {}; name two studies, or {}@COMMIT twice",
                               a.results, side.what.empty() ? "EXPERIMENT" : side.what));
}

/// A run that was set aside several times is one run: its last attempt of them.
void keep_last_of_each_run(Side& side) {
  std::vector<AttemptRecord> last;
  std::set<std::pair<std::string, RunName>> several;
  const std::size_t all = side.records.size();
  for (AttemptRecord& record : side.records) {
    if (!last.empty() && last.back().key.config_id == record.key.config_id && last.back().key.run == record.key.run) {
      several.emplace(record.key.config_id, record.key.run);
      last.pop_back();
    }
    last.push_back(std::move(record));
  }
  side.records = std::move(last);
  if (several.empty()) return;
  side.note =
      fmt::format("{}@{}: {} several attempts that were set aside: the last one counts, {} not", side.study.experiment.name,
                  kAside, counted(static_cast<long long>(several.size()), "run has", "runs have"),
                  counted(static_cast<long long>(all - side.records.size()), "earlier one does", "earlier ones do"));
}

/// Runs of both sides that count, and those that were set aside.
void read_records(Side& side, const IndexView& index, const SideReference& reference) {
  const std::string& name = side.study.experiment.name;
  if (reference.is_aside()) {
    side.records = index.store.set_aside_attempts(name, true);
    keep_last_of_each_run(side);
    if (!side.records.empty()) return;
    throw InputError(fmt::format("error: no run of {} was set aside: `{}@aside` has no runs", reference.what, reference.what));
  }
  side.records = index.store.counting_attempts(name, true);
  side.report.set_aside = index.store.set_aside_attempts(name, false);
  if (reference.commit.empty()) {
    side.report.changed_files = changed_files_of(side.study, index.store);
    return;
  }
  keep_commit(side.records, reference);
  std::erase_if(side.report.set_aside, [&](const AttemptRecord& record) { return !is_of_commit(record, reference); });
}

/// A folder that has results of this side is named together with that of the other side.
[[noreturn]] void refuse_side_without_results(const Study& study, const CompareArguments& arguments, bool is_b) {
  std::array<std::string, 2> folders = {arguments.results.front(), arguments.results.back()};
  const std::string near = results_near(study.results_root, study.experiment.name, study.source.file);
  std::error_code error;
  const bool is_other_side = arguments.a == arguments.b && std::filesystem::equivalent(near, folders[is_b ? 0 : 1], error);
  folders[is_b ? 1 : 0] = near;
  std::string advice;
  if (!near.empty() && !is_other_side) {
    advice = fmt::format("\n  = {} holds {}: write `--results {} {}`", near, study.experiment.name, shell_quote(folders[0]),
                         shell_quote(folders[1]));
  } else if (study.experiment.runs_anything()) {
    advice = fmt::format("\n  = `hpcbench run {}` makes some", study.named());
  }
  throw UnavailableError(fmt::format("error: no results of {} in {}{}", study.experiment.name, study.results_root, advice));
}

Side load_side(Study study, const SideReference& reference, const CompareArguments& arguments, bool is_b) {
  Side side{std::move(study), {}, {}, {}};
  take_in_imports(side.study);
  const IndexView index = open_for_reading(side.study);
  if (index.states.empty() && side.study.broken_imports.empty()) refuse_side_without_results(side.study, arguments, is_b);
  read_records(side, index, reference);
  side.study.experiment.has_gpus = side.study.experiment.has_gpus || used_gpus(side.records);
  side.report.tried_again = attempts_tried_again(side.study.experiment, index.states);
  side.report.all_repeats = !reference.commit.empty();  // the commit says which runs count
  if (!arguments.metric.empty()) side.report.metric = arguments.metric;
  if (!arguments.study.only.empty()) side.report.only.push_back(parse_selection(arguments.study.only, "--only"));
  return side;
}

/// A word of --fail-if that is a metric of one side, too, has two meanings.
void refuse_metrics_as_rules(const std::vector<FailRule>& rules, const Side& side) {
  const auto is_metric = [&](const std::string& name) {
    return side.study.experiment.find_metric(name) != nullptr ||
           std::any_of(side.records.begin(), side.records.end(),
                       [&](const AttemptRecord& record) { return record.metrics.contains(name); });
  };
  for (const FailRule& rule : rules) {
    const std::string word(trim(std::string_view(rule.text).substr(0, rule.text.find_first_of("<>"))));
    if (!rule.metric.empty() || !is_metric(word)) continue;
    throw InputError(fmt::format(
        "error: --fail-if `{0}`: `{1}` is a rule, and a metric of {2}, too\n  = rename the metric; or write `--metric {1} "
        "--fail-if 'higher > 5%'` for the metric",
        rule.text, word, side.study.experiment.path));
  }
}

/// The comparison of the reported metric, with the results of all rules: those that name another metric compare that one.
Comparison compare_by_rules(Side& a, Side& b, ComparisonOptions options) {
  for (const Side* side : {&a, &b}) refuse_metrics_as_rules(options.fail_if, *side);
  const Table of_a = a.table();
  std::vector<FailRule> rules = std::exchange(options.fail_if, {});
  // A gate says of each row that its metric is gone.
  b.report.metric_may_be_absent = !rules.empty();
  std::map<std::string, std::vector<FailRule>> of_others;
  for (FailRule& rule : rules) {
    if (rule.metric.empty() || rule.metric == of_a.metric) {
      options.fail_if.push_back(std::move(rule));
    } else {
      of_others[rule.metric].push_back(std::move(rule));
    }
  }
  Comparison comparison = compare_tables(of_a, b.table(), options);
  for (auto& [metric, own] : of_others) {
    a.report.metric = b.report.metric = metric;
    options.fail_if = std::move(own);
    Comparison other = compare_tables(a.table(), b.table(), options);
    for (RuleResult& rule : other.rules) comparison.rules.push_back(std::move(rule));
    for (const std::string& line : other.left_out) {
      const bool is_known =
          std::find(comparison.left_out.begin(), comparison.left_out.end(), line) != comparison.left_out.end();
      if (!is_known) comparison.left_out.push_back(fmt::format("{} of {}", metric, line));
    }
  }
  return comparison;
}

std::string name_of_side(const SideReference& side, const std::string& results, bool several_results) {
  std::string name = side.what.empty() ? "what was run last" : side.what;
  if (!side.commit.empty()) name += side.is_aside() ? ", set aside" : " at commit " + side.commit;
  return several_results ? name + " in " + results : name;
}

/// A folder as a side: the study of a results folder, or the folder of one study in it.
struct FolderSide {
  std::string study, results;
};

/// Absent for what is no folder, or the name of a study in `results`: that goes before a folder of the same name.
std::optional<FolderSide> folder_side(const std::string& text, const std::string& results) {
  namespace fs = std::filesystem;
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (text.empty() || !fs::is_directory(text) || has(experiments_on_disk(results), text)) return std::nullopt;
  const fs::path folder = fs::path(text).has_filename() ? fs::path(text) : fs::path(text).parent_path();
  const std::string parent = folder.has_parent_path() ? folder.parent_path().string() : ".";
  if (has(experiments_on_disk(parent), folder.filename().string())) return FolderSide{folder.filename().string(), parent};
  const std::vector<std::string> studies = experiments_on_disk(folder.string());
  if (studies.size() == 1) return FolderSide{studies.front(), folder.string()};
  if (const auto last = read_last_run(folder.string()); last && has(studies, last->experiment))
    return FolderSide{last->experiment, folder.string()};
  if (studies.empty()) {
    throw InputError(fmt::format(
        "error: the folder {} holds no results; write `hpcbench compare OLD.yaml NEW.yaml`, or give two results folders",
        text));
  }
  throw InputError(fmt::format("error: {0} holds several studies; write one of {1} as A or B, with `--results {0}`", text,
                               join(studies, ", ")));
}

/// `compare DIR1 DIR2`: what was run last in each, or its only study.
void take_folders(CompareArguments& arguments) {
  const std::string here = arguments.results.front();
  const std::optional<FolderSide> a = folder_side(arguments.a, here);
  const std::optional<FolderSide> b = folder_side(arguments.b, arguments.results.back());
  if (!a && !b) return;
  if (arguments.results.size() > 1) {
    throw InputError(fmt::format("error: {} is a folder, and --results names folders, too; name the folders once",
                                 a ? arguments.a : arguments.b));
  }
  arguments.results = {a ? a->results : here, b ? b->results : here};
  if (arguments.results.front() == arguments.results.back()) arguments.results.pop_back();
  if (a) arguments.a = a->study;
  if (b) arguments.b = b->study;
}

/// `--results` takes all words that follow it: files among them are A and B.
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
    const bool is_default = folder == StudyOptions{}.results && arguments.results.size() == 1;
    const bool has_file = std::filesystem::is_regular_file(arguments.a) || std::filesystem::is_regular_file(arguments.b);
    if (!is_default && !has_file && !std::filesystem::is_directory(folder)) refuse_folder(folder);
  }
  if (arguments.b.empty() && arguments.results.size() < 2) {
    throw InputError(
        "error: one side is missing; name two experiments, EXPERIMENT@COMMIT twice, or one with --results DIR1 DIR2");
  }
  if (arguments.b.empty()) arguments.b = arguments.a;
  take_folders(arguments);
}

ComparisonOptions options_of(const CompareArguments& arguments) {
  ComparisonOptions options;
  options.margin = parse_share(arguments.margin, "--margin");
  options.allow_missing = arguments.allow_missing;
  bool has_missing = false;
  for (const std::string& text : arguments.fail_if) {
    options.fail_if.push_back(parse_fail_rule(text));
    has_missing = has_missing || options.fail_if.back().kind == FailRule::Kind::missing;
  }
  if (has_missing && options.allow_missing)
    throw InputError("error: --allow-missing contradicts --fail-if `missing`: remove one of them");
  return options;
}

const ComparisonFormat& format_of(const CompareArguments& arguments) {
  const auto& formats = comparison_formats();
  const auto found = std::find_if(formats.begin(), formats.end(),
                                  [&](const ComparisonFormat& format) { return format.name == arguments.format; });
  if (found->of_gates && arguments.fail_if.empty()) {
    throw InputError(fmt::format("error: --format {} shows the results of rules: give --fail-if, as in --fail-if 'slower > 5%'",
                                 arguments.format));
  }
  return *found;
}

/// Programs read the output; a log shows what the gate says.
void say_gate(const Comparison& comparison) {
  for (const std::string& line : gate_lines(comparison)) say(line);
}

/// A gate must not pass by values of files that are gone.
std::vector<std::string> import_errors(const Study& a, const Study& b, bool has_rules) {
  std::vector<std::string> errors;
  for (const Study* study : {&a, &b}) {
    errors.insert(errors.end(), study->broken_imports.begin(), study->broken_imports.end());
    if (has_rules) errors.insert(errors.end(), study->missing_imports.begin(), study->missing_imports.end());
  }
  return errors;
}

int compare_sides(CompareArguments arguments, const ComparisonFormat& format) {
  ComparisonOptions options = options_of(arguments);
  put_arguments_right(arguments);
  refuse_names_of_imports(arguments);
  const SideReference a = parse_side(arguments.a);
  const SideReference b = parse_side(arguments.b);
  const bool several = arguments.results.size() > 1;
  options.a = name_of_side(a, arguments.results.front(), several);
  options.b = name_of_side(b, arguments.results.back(), several);
  Study study_a = load_side_study(a, arguments.results.front(), arguments);
  Study study_b = load_side_study(b, arguments.results.back(), arguments);
  if (study_a.results == study_b.results && a.commit == b.commit) refuse_same_runs(study_a, study_b, a, arguments);
  if (a.commit == b.commit) refuse_same_imports(study_a, study_b, arguments);
  Side of_a = load_side(std::move(study_a), a, arguments, false);
  Side of_b = load_side(std::move(study_b), b, arguments, true);
  Comparison comparison = compare_by_rules(of_a, of_b, options);
  add_errors(comparison, import_errors(of_a.study, of_b.study, !arguments.fail_if.empty()));
  for (const Side* side : {&of_a, &of_b}) {
    if (!side->note.empty()) comparison.notes.push_back(side->note);
  }
  if (of_a.study.source.file == of_b.study.source.file && !of_a.study.experiment.imports.empty())
    comparison.notes.push_back(fmt::format("runs that {} imports are the same on both sides", of_a.study.experiment.path));
  print_data(format.print(comparison));
  if (format.is_for_programs) say_gate(comparison);
  if (!comparison.errors.empty()) return kBrokenImports;
  const GateState gate = gate_state(comparison);
  return gate == GateState::fails ? 1 : gate == GateState::undecided ? 2 : 0;
}

/// A file that a CI system reads must not be empty where nothing could be compared.
int compare_or_print_error(const CompareArguments& arguments) {
  const ComparisonFormat& format = format_of(arguments);
  try {
    return compare_sides(arguments, format);
  } catch (const std::runtime_error& error) {
    if (format.print_error != nullptr) print_data(format.print_error(error.what()));
    throw;
  }
}

}  // namespace

void add_compare(commandline::Command& command) {
  const auto arguments = std::make_shared<CompareArguments>();
  command.add_option("A", arguments->a,
                     "an experiment file, the name of a study, or a results folder; with @COMMIT only the runs of that commit, "
                     "with @aside those that were set aside");
  command.add_option("B", arguments->b,
                     "what is compared with it, likewise; may be left out where --results names two folders");
  command.add_option("--results", arguments->results, "folder of all results, or one for A and one for B")
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
      .value_name("AXIS=VALUE,...")
      .not_empty();
  command.add_option("--metric", arguments->metric, "train_s, wall_s or any metric of the runs").value_name("NAME");
  command.add_option("--margin", arguments->margin, "how far apart two configurations may be and still be equivalent")
      .value_name("SHARE");
  command
      .add_option(
          "--fail-if", arguments->fail_if,
          "exit 1 where this is shown of a row: `slower > 5%`, `faster > 5%`, `higher > 5%`, `lower > 5%`, `METRIC > 5%`, "
          "`METRIC < -5%`, `failed > 0`, `missing`, `not equivalent`, `not resolved`; again for another rule")
      .value_name("RULE");
  command
      .add_flag("--allow-missing", arguments->allow_missing,
                "with --fail-if: accept rows without a value in B, and runs of B that never began")
      .needs("--fail-if");
  std::vector<std::string> formats;
  for (const ComparisonFormat& known : comparison_formats()) formats.push_back(known.name);
  command.add_option("--format", arguments->format, join(formats, ", ") + "; github and junit show the rules of --fail-if")
      .one_of(formats);
  command.action([=] { return compare_or_print_error(*arguments); });
}

}  // namespace hpcbench
