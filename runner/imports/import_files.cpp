#include "imports/import_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/glob.hpp"
#include "base/state.hpp"
#include "base/take.hpp"
#include "base/text.hpp"
#include "ingest/found_text.hpp"
#include "spec/import_words.hpp"

namespace hpcbench {

namespace fs = std::filesystem;

namespace {

/// Files of one run: those whose paths give the same values.
struct RunFiles {
  std::vector<std::string> files;
  NamedGlob::Reading reading;
};

bool is_of_point(const Plan& plan, const std::string& name) {
  return name == "gpus" || name == "ranks" || std::find(plan.axes.begin(), plan.axes.end(), name) != plan.axes.end();
}

std::string describe_reading(const NamedGlob::Reading& reading) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : reading.values) parts.push_back(fmt::format("{}={}", name, value));
  return join(parts, ", ");
}

/// The only reading, or the only one whose axes have values of the plan. Absent, with a problem, if there are several.
std::optional<NamedGlob::Reading> choose_reading(const Study& study, const Import& import, const std::string& path,
                                                 const std::vector<NamedGlob::Reading>& readings, ImportPlan& plan) {
  const auto is_of_plan = [&](const NamedGlob::Reading& reading) {
    return std::all_of(reading.values.begin(), reading.values.end(), [&](const auto& value) {
      return !is_of_point(study.plan, value.first) || !find_points(study.plan, {value}).empty();
    });
  };
  std::vector<const NamedGlob::Reading*> fitting;
  for (const NamedGlob::Reading& reading : readings) {
    const auto is_same = [&](const NamedGlob::Reading* other) { return other->values == reading.values; };
    if (is_of_plan(reading) && std::none_of(fitting.begin(), fitting.end(), is_same)) fitting.push_back(&reading);
  }
  if (fitting.empty() && !readings.empty()) return readings.front();  // no point has its values, and that is the message
  if (fitting.size() == 1) return *fitting.front();
  if (readings.empty()) {
    plan.problems.push_back(
        printable(fmt::format("{}: error: its path cannot be read by the names of {}", path, describe(import.place))));
    plan.broken.insert(path);
  }
  if (fitting.size() > 1) {
    plan.problems.push_back(printable(fmt::format("{}: error: the path can be read as {} and as {}", path,
                                                  describe_reading(*fitting[0]), describe_reading(*fitting[1]))) +
                            fmt::format("\n  = write more of the names into `files` of {}", describe(import.place)));
    plan.broken.insert(path);
  }
  return std::nullopt;
}

/// Those of one run stand together. Without names, all files are one run, or each is one.
std::vector<RunFiles> group_files(const Import& import, const std::vector<ImportedFile>& files) {
  const bool has_names = std::any_of(files.begin(), files.end(), [](const auto& file) { return !file.reading.values.empty(); });
  std::vector<RunFiles> runs;
  std::map<std::pair<std::vector<std::pair<std::string, std::string>>, std::vector<std::string>>, std::size_t> known;
  for (const ImportedFile& file : files) {
    std::pair key{file.reading.values, file.reading.others};
    std::sort(key.first.begin(), key.first.end());
    if (import.each) key.second.push_back(file.path);
    const auto [found, is_new] = known.emplace(has_names || import.each ? key : decltype(key)(), runs.size());
    if (is_new) runs.push_back({{}, file.reading});
    runs[found->second].files.push_back(file.path);
  }
  return runs;
}

/// Makes the requests of the runs of one entry.
class FilesPlanner {
 public:
  FilesPlanner(const Study& study, const Import& import, bool inherited, ImportPlan& plan)
      : study_(study), import_(import), inherited_(inherited), plan_(plan) {}

  void add(const RunFiles& run) {
    run_ = &run;
    Import of_run = import_;
    add_names(study_.plan, run.reading, of_run);
    texts_.clear();
    for (const auto& [name, value] : of_run.run) texts_.emplace_back(name, value.text());
    ImportRequest request;
    request.facts = of_run.facts;
    request.outcome = import_.outcome;
    if (!read_axes() || !read_facts(request) || !read_outcome(request)) return;
    const std::vector<std::size_t> points = find_points(study_.plan, texts_);
    if (const std::string why = why_not_one(study_.plan, texts_, points); !why.empty()) {
      if (points.empty() && inherited_ && is_of_paths()) {
        ++left_out_;
      } else {
        refuse_point(why);
      }
      return;
    }
    request.configuration = points.front();
    complete(request);
    plan_.requests.push_back(std::move(request));
  }

  void finish() {
    if (left_out_ > 0) {
      plan_.whole = false;
      plan_.notes.push_back(fmt::format("{}: {} are of points that are not there now", describe(import_.place),
                                        counted(left_out_, "run", "runs")));
    }
    for (const auto& [word, count] : ignored_) {
      plan_.notes.push_back(printable(fmt::format("{}: {} left out, as `outcome` ignores `{}`", describe(import_.place),
                                                  counted(count, "run is", "runs are"), word)));
    }
  }

 private:
  /// Whether values of each run are known only by its files.
  bool is_of_paths() const { return !run_->reading.values.empty() || !import_.run_sources.empty(); }

  void refuse(const std::string& text, const std::string& advice) {
    const std::string where = is_of_paths() || import_.outcome_source || !import_.fact_sources.empty()
                                  ? run_->files.front()
                                  : describe(import_.place);
    plan_.problems.push_back(printable(fmt::format("{}: error: {}", where, text)) + (advice.empty() ? "" : "\n  = " + advice));
    plan_.broken.insert(run_->files.begin(), run_->files.end());
  }

  void refuse_point(const std::string& why) {
    std::string advice;
    if (is_of_paths()) {
      const std::string path =
          run_->reading.values.empty() ? "" : fmt::format("; its path gives {}", describe_reading(run_->reading));
      advice = fmt::format("imported by {}{}", describe(import_.place), printable(path));
    } else if (import_.run.empty() && import_.each) {
      advice = fmt::format("say which point they are: {{files: {}, each: true, run: {{...}}}}", import_.files.front());
    }
    refuse(why, advice);
  }

  FoundText find(const Import::TextSource& source) const {
    const std::vector<std::string> files =
        source.file.empty() ? run_->files : glob_files(glob_escaped(run_->reading.folder) + '/' + source.file);
    return find_text(files, source.kind, source.selector);
  }

  /// `no `/lr` in .hydra/config.yaml of multirun/0`
  std::string missing_text(const Import::TextSource& source) const {
    return fmt::format("nothing is {} {} in {} of {}", source.kind, source.selector,
                       source.file.empty() ? "the files" : source.file, run_->reading.folder);
  }

  bool read_axes() {
    for (const auto& [name, source] : import_.run_sources) {
      const FoundText found = find(source);
      if (!found.text) {
        refuse(fmt::format("no `{}`: {}", name, found.problem.empty() ? missing_text(source) : found.problem),
               fmt::format("it is a source of `run` in {}", describe(import_.place)));
        return false;
      }
      texts_.emplace_back(name, *found.text);
    }
    return true;
  }

  bool read_facts(ImportRequest& request) {
    for (const auto& [name, source] : import_.fact_sources) {
      const FoundText found = find(source);
      if (!found.problem.empty()) {
        refuse(fmt::format("fact `{}`: {}", name, found.problem),
               fmt::format("it is a source of `facts` in {}", describe(import_.place)));
        return false;
      }
      if (found.text) request.facts[name] = *found.text;
    }
    return true;
  }

  /// False where the run is not imported.
  bool read_outcome(ImportRequest& request) {
    if (!import_.outcome_source) return true;
    const FoundText found = find(*import_.outcome_source);
    const std::string word = found.text.value_or("");
    std::string why = found.problem;
    const auto outcome = why.empty() ? outcome_of_word(import_, word, why) : std::nullopt;
    if (!outcome) {
      refuse(word.empty() && found.problem.empty() ? "no outcome: " + missing_text(*import_.outcome_source) : why,
             word.empty() ? fmt::format("to import it all the same, add `is: {{\"\": failed}}` in {}", describe(import_.place))
                          : fmt::format("it is the `outcome` of {}", describe(import_.place)));
      return false;
    }
    if (*outcome == kIgnoredOutcome) {
      ++ignored_[word];
      return false;
    }
    request.outcome = *outcome;
    if (!import_.outcome_words.empty()) request.outcome_word = word;
    return true;
  }

  void complete(ImportRequest& request) const {
    request.where = is_of_paths() || import_.each ? fmt::format("{} ({})", describe(import_.place), run_->files.front())
                                                  : describe(import_.place);
    request.files = run_->files;
    if (!run_->reading.values.empty()) request.name = describe_reading(run_->reading) + " | " + join(run_->reading.others, "/");
    request.metrics = import_.metrics.value_or(study_.plan.configurations[request.configuration].work->metrics);
    for (Metric& metric : request.metrics) {
      if (metric.decimal == DecimalMark::unknown) metric.decimal = import_.decimal;
    }
    request.values = import_.values;
    request.statistic = import_.statistic;
    request.note = import_.note;
    request.n = import_.n;
  }

  const Study& study_;
  const Import& import_;
  bool inherited_;
  ImportPlan& plan_;
  const RunFiles* run_ = nullptr;
  NamedTexts texts_;  // the point of the run
  long long left_out_ = 0;
  std::map<std::string, long long> ignored_;  // by word
};

/// Names that are facts, since no axis has them, and that may be slips.
void note_near_axes(const Study& study, const Import& import, const std::vector<ImportedFile>& files, ImportPlan& plan) {
  std::set<std::string> told;
  for (const ImportedFile& file : files) {
    for (const auto& [name, value] : file.reading.values) {
      if (is_of_point(study.plan, name) || !told.insert(name).second) continue;
      if (const std::string near = did_you_mean(name, study.plan.axes); !near.empty()) {
        plan.notes.push_back(
            fmt::format("{}: `{{{}}}` is a fact, as no axis has this name{}", describe(import.place), name, near));
      }
    }
  }
}

}  // namespace

std::vector<ImportedFile> find_imported_files(const Study& study, const Import& import, ImportPlan& plan) {
  std::vector<ImportedFile> files;
  std::set<std::string> known;
  for (const std::string& pattern : import.files) {
    std::vector<std::string> paths;
    std::optional<NamedGlob> glob;
    for (const std::string& folder : {study.results_root, fs::path(study.source.file).parent_path().string()}) {
      if (!paths.empty()) break;
      glob.emplace(folder, pattern);
      paths = glob_files(glob->glob());
    }
    if (paths.empty()) {
      plan.whole = false;
      plan.notes.push_back(fmt::format("{}: no file is {}", describe(import.place), pattern));
      plan.missing.emplace_back(describe(import.place), pattern);
    }
    for (const std::string& found : paths) {
      const std::string path = fs::absolute(found).lexically_normal().string();
      if (!known.insert(path).second) continue;
      if (glob->names().empty()) {
        files.push_back({path, {{}, {}, fs::path(path).parent_path().string()}});
      } else if (auto reading = choose_reading(study, import, path, glob->read(found), plan)) {
        reading->folder = fs::absolute(reading->folder).lexically_normal().string();
        files.push_back({path, *std::move(reading)});
      }
    }
  }
  note_near_axes(study, import, files, plan);
  return files;
}

void plan_files(const Study& study, const Import& import, const std::vector<ImportedFile>& files, bool inherited,
                ImportPlan& plan) {
  if (import.n && !import.statistic) {
    plan.notes.push_back(fmt::format("{}: `n` has no effect without `statistic` ({}): the values count as one run",
                                     describe(import.place), kStatisticWords));
  }
  FilesPlanner planner(study, import, inherited, plan);
  std::vector<RunFiles> runs = group_files(import, files);
  if (files.empty()) runs.emplace_back();  // values alone
  for (const RunFiles& run : runs) planner.add(run);
  planner.finish();
}

void add_names(const Plan& plan, const NamedGlob::Reading& reading, Import& import) {
  for (const auto& [name, value] : reading.values) {
    if (is_of_point(plan, name)) {
      import.run.emplace_back(name, Value::from_plain(value));
    } else {
      import.facts[name] = value;
    }
  }
}

std::optional<std::string> outcome_of_word(const Import& import, const std::string& word, std::string& why) {
  const auto found = std::find_if(import.outcome_words.begin(), import.outcome_words.end(), [&](const auto& each) {
    return Value::from_plain(each.first).canonical() == Value::from_plain(word).canonical();
  });
  if (found != import.outcome_words.end()) return found->second;
  const auto others = import.outcome_words.find(kOtherWords);
  if (others != import.outcome_words.end() && !word.empty()) return others->second;
  const std::optional<State> state = parse_state(word);
  if (import.outcome_words.empty() && state && is_outcome(*state)) return word;
  if (import.outcome_words.empty()) {
    why = fmt::format("`{}` is no outcome: write succeeded, failed, timeout, out_of_memory ...", word);
    return std::nullopt;
  }
  std::vector<std::string> words;
  for (const auto& [each, outcome] : import.outcome_words) words.push_back(each.empty() ? "\"\"" : each);
  why = fmt::format("`{}` is no word of `outcome`, which has: {}", word, join(words, ", "));
  return std::nullopt;
}

}  // namespace hpcbench
