#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/take.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/study_options.hpp"
#include "imports/asked_by_hand.hpp"
#include "imports/import_runs.hpp"
#include "imports/problems.hpp"
#include "imports/try_imports.hpp"
#include "study/index.hpp"

namespace hpcbench {

namespace {

struct IngestOptions {
  StudyOptions study;                  // `file` is --experiment
  std::vector<std::string> arguments;  // EXPERIMENT, or the files of a run
  std::string run;
  bool each = false;
  bool dry_run = false;
  std::vector<std::string> values, facts;
  std::string outcome, statistic, note;
  int n = 0;
};

std::string absolute_results(const std::string& folder) {
  return std::filesystem::absolute(folder).lexically_normal().string();
}

std::vector<std::string> named_or_all(const std::string& results_root, const std::string& experiment) {
  const std::vector<std::string> there = experiments_on_disk(results_root);
  if (experiment.empty()) return there;
  if (std::find(there.begin(), there.end(), experiment) == there.end()) {
    throw InputError(
        fmt::format("error: {} holds no experiment `{}`{}", results_root, experiment, did_you_mean(experiment, there)));
  }
  return {experiment};
}

/// The file that was run last knows how its runs are to be read today.
void apply_file_of_today(Store& store, const std::string& root, const std::string& experiment) {
  const std::optional<LastRun> last = read_last_run(root);
  if (!last || last->experiment != experiment) return;
  StudyOptions options;
  options.results = root;
  try {
    refresh_index(store, load_study(options));
  } catch (const InputError& problem) {
    say(fmt::format("note: {} is read by the rules last applied: its file has mistakes:\n{}", experiment, problem.what()));
  } catch (const UnavailableError& problem) {
    say(fmt::format("note: {} is read by the rules last applied: {}", experiment, problem.what()));
  }
}

int ingest_experiments(const std::string& results, const std::string& experiment) {
  const std::string root = absolute_results(results);
  const std::vector<std::string> names = named_or_all(root, experiment);
  if (names.empty()) {
    say(fmt::format("nothing to ingest: {} holds no results", root));
    return 0;
  }
  Store store = open_index(root);
  for (const std::string& name : names) {
    apply_file_of_today(store, root, name);
    say(fmt::format("{}: {} attempts read", name, reindex(store, root, name)));
  }
  return 0;
}

/// `name=text`, both of them something.
std::pair<std::string, std::string> named_text(const std::string& text, const char* option) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) throw InputError(fmt::format("error: {} {}: write name=value", option, text));
  return {std::string(trim(text.substr(0, equals))), std::string(trim(text.substr(equals + 1)))};
}

/// The metrics that the study itself names.
std::vector<std::string> metrics_of_study(const Study& study, const Configuration& configuration) {
  std::set<std::string> names = {study.experiment.report_metric()};
  for (const Metric& metric : configuration.work->metrics) names.insert(metric.name);
  for (const Metric& metric : study.experiment.described) names.insert(metric.name);
  for (const Import& import : study.experiment.imports) {
    for (const GivenValue& given : import.values) names.insert(given.metric);
    for (const auto& [metric, heading] : import.headings) names.insert(metric);
    for (const auto& [metric, unit] : import.units) names.insert(metric);
  }
  return {names.begin(), names.end()};
}

/// A mistyped name would give the run no value of the metric that is meant. Reports also read `samples` and others that
/// hpcbench or its trainer measures.
void require_metric_of_study(const Study& study, const Configuration& configuration, const std::string& option,
                             const std::string& name) {
  const std::vector<std::string> names = metrics_of_study(study, configuration);
  std::vector<std::string> known = names;
  for (const auto* const others : {&measured_metrics(), &trainer_metrics()})
    known.insert(known.end(), others->begin(), others->end());
  if (name.starts_with(kPublished) || std::find(known.begin(), known.end(), name) != known.end()) return;
  throw InputError(
      fmt::format("error: --value {}: the study has no metric `{}`{}; its metrics are: {}\n  = to add one, describe it in the "
                  "experiment file: metrics: [{{name: {}, better: higher}}]",
                  option, name, did_you_mean(name, known), join(names, ", "), name));
}

/// What the options say of a run, without its files.
ImportRequest request_of(const Study& study, const IngestOptions& options) {
  ImportRequest request;
  request.configuration = find_point(study.plan, options.run);
  request.metrics = study.plan.configurations[request.configuration].work->metrics;
  for (const std::string& text : options.values) {
    const auto [name, value] = named_text(text, "--value");
    require_metric_of_study(study, study.plan.configurations[request.configuration], text, name);
    const std::optional<GivenValue> given = read_given_value(name, value, "");
    if (!given) {
      throw InputError(
          fmt::format("error: --value {}: `{}` is neither a number nor a time; write {}=4108.8 or '{}=63 min 48 s'", text,
                      value, name, name));
    }
    if (is_negative_time(*given)) throw InputError(fmt::format("error: --value {}: a time is never negative", text));
    request.values.push_back(*given);
  }
  for (const std::string& text : options.facts) request.facts.insert(named_text(text, "--fact"));
  if (!options.outcome.empty()) request.outcome = options.outcome;
  if (!options.statistic.empty()) {
    request.statistic = parse_statistic(options.statistic);
    if (!request.statistic)
      throw InputError(fmt::format("error: --statistic {}: write {}", options.statistic, kStatisticWords));
  }
  if (!options.note.empty()) request.note = options.note;
  if (options.n > 0) request.n = options.n;
  return request;
}

std::vector<std::string> files_of_run(const std::vector<std::string>& arguments) {
  std::vector<std::string> files;
  for (const std::string& argument : arguments) {
    const std::string path = absolute_results(argument);
    std::error_code error;
    if (!std::filesystem::exists(path, error)) throw InputError(fmt::format("error: there is no file {}", argument));
    if (!std::filesystem::is_regular_file(path, error)) throw InputError(fmt::format("error: {} is no regular file", argument));
    if (std::find(files.begin(), files.end(), path) == files.end()) files.push_back(path);
  }
  return files;
}

/// Shows what an import would give, and what it would leave out.
int show_imports(const Study& study, const ImportPlan& plan, ImportOrigin origin) {
  const TriedImports tried = try_imports(study, plan, origin);
  print_data(tried_runs_text(tried.runs));
  for (const std::string& note : tried.notes) say("note: " + printable(note));
  std::set<std::string> told;
  for (const TriedRun& run : tried.runs) {
    for (const std::string& warning : run.warnings) {
      if (told.insert(warning).second) say(fmt::format("note: {}: {}", run.source, warning));
    }
  }
  for (const std::string& problem : one_for_each_file(tried.problems)) say(problem);
  say(fmt::format("{} would be imported; nothing was written",
                  counted(static_cast<long long>(tried.runs.size()), "run", "runs")));
  return tried.problems.empty() ? 0 : 2;
}

/// The plan of what the options name.
ImportPlan plan_of_options(const Study& study, const IngestOptions& options) {
  ImportRequest request = request_of(study, options);
  const std::vector<std::string> files = files_of_run(options.arguments);
  if (files.empty() && request.values.empty() && !request.outcome) {
    throw InputError("error: name the files of the run, or say --value metric=number or --outcome");
  }
  ImportPlan plan;
  for (std::size_t i = 0; i < (options.each ? files.size() : 1); ++i) {
    request.files = options.each ? std::vector{files[i]} : files;
    request.where =
        request.files.empty() ? "--run " + options.run : std::filesystem::path(request.files.front()).filename().string();
    plan.requests.push_back(request);
  }
  return plan;
}

int ingest_run(const IngestOptions& options) {
  if (!options.dry_run && options.run.empty()) throw InputError("error: --experiment requires --run or --dry-run");
  const Study study = load_study(options.study);
  if (options.dry_run) {
    return options.run.empty() ? show_imports(study, plan_imports(study), ImportOrigin::experiment_file)
                               : show_imports(study, plan_of_options(study, options), ImportOrigin::command);
  }
  require_own(study);
  open_for_reading(study);
  ImportPlan plan = plan_of_options(study, options);
  refuse_changed_files(study, plan.requests);
  for (ImportRequest& each : plan.requests) keep_given_before(study, each);
  const ImportResult result = import_runs(study, plan, ImportOrigin::command, false);
  for (const std::string& note : result.notes) say("note: " + printable(note));
  for (const std::string& problem : result.problems) say(problem);
  for (const std::string& path : result.paths) {
    const AttemptRecord record = read_attempt(study.results + '/' + path);
    for (const std::string& warning : record.warnings) say(fmt::format("note: {}: {}", path, warning));
    print_data(fmt::format("{}/{}: {}{}\n", study.experiment.name, path, to_string(record.state),
                           record.reason ? ": " + *record.reason : ""));
  }
  say(fmt::format("{} taken in, {} read again, {} there already{}", result.taken, result.again, result.known,
                  result.known > 0 && result.taken + result.again == 0 ? ": nothing has changed" : ""));
  for (const std::string& run : result.known_runs) say(fmt::format("note: {}/{} holds it", study.experiment.name, run));
  if (options.arguments.empty() && result.again > 0) {
    say("note: this replaces what was given by hand for this point under the same names, and the rest stays; several runs of a "
        "point go into a table: import: [runs.csv]");
  }
  return result.problems.empty() ? 0 : 2;
}

int ingest(const IngestOptions& options) {
  if (!options.study.file.empty()) return ingest_run(options);
  if (options.arguments.size() > 1) {
    throw InputError(
        "error: to take in files, name what they are of: hpcbench ingest --experiment FILE --run axis=value,... FILE...");
  }
  return ingest_experiments(options.study.results, options.arguments.empty() ? "" : options.arguments.front());
}

}  // namespace

void add_ingest(commandline::Command& command) {
  const auto options = std::make_shared<IngestOptions>();
  command.add_option(
      "ARGUMENT", options->arguments,
      "without --experiment: the experiment whose run directories are read again (all, if none is named); with it: "
      "the files of a run");
  command.add_option("--experiment", options->study.file, "take in FILEs as runs of this experiment file").value_name("FILE");
  const auto of_run = [&](const std::string& name, auto& target, const std::string& help) -> commandline::Option& {
    return command.add_option(name, target, help).needs("--experiment");
  };
  of_run("--run", options->run, "which point they are, as in `ddp,nodes=2`").value_name("VALUE,AXIS=VALUE");
  of_run("--dry-run", options->dry_run,
         "print as a table what FILEs, or without --run what `import` of the experiment file would give; write nothing");
  of_run("--each", options->each, "each file is a run; without it all are one");
  of_run("--value", options->values, "a metric that stands in no file, as in `train_s=4108.8`").value_name("METRIC=VALUE");
  of_run("--fact", options->facts, "what else is known of the run, as in `precision=bf16`").value_name("NAME=TEXT");
  std::vector<std::string> outcomes;
  for (const State state : kStates) {
    if (is_outcome(state)) outcomes.emplace_back(to_string(state));
  }
  of_run("--outcome", options->outcome, "how it ended; without it the files say it").one_of(outcomes);
  of_run("--statistic", options->statistic, "the values are this statistic of --n runs: mean, median, min, max or p95 ...")
      .value_name("NAME");
  of_run("--n", options->n, "how many runs the statistic is of").at_least(1).needs("--statistic");
  of_run("--note", options->note, "kept with the run").value_name("TEXT");
  of_run("--profile", options->study.profiles, "overlay of the file's `profiles`").value_name("NAME");
  of_run("--site", options->study.site, "what is true of the cluster: a name in sites/ or a path").value_name("SITE");
  of_run("--set", options->study.settings, "set one value, as in `--set parameters.lr=0.1`").value_name("A.B=YAML");
  add_results_option(command, options->study.results);
  command.action([=] { return ingest(*options); });
}

}  // namespace hpcbench
