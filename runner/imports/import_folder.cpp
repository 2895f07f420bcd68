#include "imports/import_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "imports/asked_by_hand.hpp"
#include "ingest/attempt_record.hpp"
#include "ingest/formulas.hpp"
#include "ingest/read_sources.hpp"
#include "render/attempt.hpp"
#include "study/reading.hpp"

namespace hpcbench {

namespace fs = std::filesystem;

namespace {

constexpr long long kLargestCopy = 64LL << 20;
constexpr const char* kLineName = "line.csv";

/// A name in `sources/` that no other source has.
std::string free_name(const std::string& name, std::set<std::string>& used) {
  std::string free = name;
  for (int n = 2; !used.insert(free).second; ++n) free = fmt::format("{}-{}", n, name);
  return free;
}

}  // namespace

std::string import_identity(const Study& study, const ImportRequest& request, const std::vector<ImportedSource>& sources,
                            int ordinal) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : study.plan.bindings(study.plan.configurations[request.configuration]))
    lines.push_back("axis " + name + '=' + value.canonical());
  for (const ImportedSource& source : sources)
    lines.push_back(fmt::format("source {} {}", source.sha256, source.line ? *source.line : 0));
  if (!request.name.empty()) lines.push_back("run " + request.name);
  std::sort(lines.begin(), lines.end());
  return sha256_hex(fmt::format("{}\n{}\n{}", study.experiment.name, join(lines, "\n"), ordinal));
}

/// ` (`Train_s` is given: write `train_s`)`; empty if no name is near.
std::string other_spelling_of(const std::string& metric, const std::vector<std::string>& given) {
  const auto same =
      std::find_if(given.begin(), given.end(), [&](const std::string& name) { return lower_case(name) == lower_case(metric); });
  const std::optional<std::string> near = same != given.end() ? std::optional(*same) : nearest(metric, given);
  return near ? fmt::format(" (`{}` is given: write `{}`)", *near, metric) : "";
}

/// Those that the request reads, and the formulas of the experiment.
std::vector<Metric> metrics_of(const Study& study, const ImportRequest& request) {
  std::vector<Metric> metrics = request.metrics;
  for (const Metric& metric : study.plan.configurations[request.configuration].work->metrics) {
    const auto same = [&](const Metric& other) { return other.name == metric.name; };
    if (metric.is_formula() && std::none_of(metrics.begin(), metrics.end(), same)) metrics.push_back(metric);
  }
  return metrics;
}

std::string request_hash(const Study& study, const ImportRequest& request) {
  constexpr int kReadingVersion = 3;  // another one reads all imports again
  JsonWriter metrics;
  write_metrics(metrics, metrics_of(study, request));
  std::string text = fmt::format("{}\n{}\n{}\n", kReadingVersion, study.experiment.report_metric(), metrics.take());
  for (const GivenValue& value : request.values)
    text += fmt::format("{}={} {} {}\n", value.metric, value.value, value.unit, value.printed);
  for (const auto& [name, fact] : request.facts) text += json_quote(name) + '=' + json_quote(fact) + '\n';
  for (const auto& word : {request.outcome, request.statistic, request.note}) text += json_quote(word.value_or("")) + '\n';
  text += std::to_string(request.n.value_or(0));
  const Work& work = *study.plan.configurations[request.configuration].work;
  text += work.success.pattern.value_or("");
  if (!work.success.require.empty()) text += to_json(work.success);
  text += formulas_json(work, study.experiment.derive);
  return sha256_hex(text);
}

ImportFolder::ImportFolder(const Study& study, const ImportRequest& request, AttemptKey key,
                           std::vector<ImportedSource> sources, const std::string& identity, const std::string& wanted,
                           bool by_file)
    : study_(&study),
      request_(&request),
      key_(std::move(key)),
      folder_(fmt::format("{}/{}/{}{}", study.results, key_.config_id, kUnfinishedPrefix, random_hex(16))) {
  imported_.identity = identity;
  imported_.request = wanted;
  imported_.by_file = by_file;
  imported_.sources = std::move(sources);
  imported_.facts = request.facts;
  imported_.statistic = request.statistic;
  imported_.note = request.note;
  if (request.n) imported_.n = *request.n;
  if (!by_file) imported_.asked = asked_json(request);
}

std::vector<std::string> ImportFolder::prepare() {
  make_folders(folder_);
  write_file(folder_ + "/run.json", run_json(), Durability::none);
  copy_sources();
  if (problems_.empty()) read();
  if (!problems_.empty()) {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  return problems_;
}

void ImportFolder::copy_sources() {
  std::set<std::string> used;
  auto file = request_->files.begin();  // where a source is read: a copy that an earlier attempt kept, or the source itself
  for (ImportedSource& source : imported_.sources) {
    if (source.line) {
      source.file = "sources/" + free_name(kLineName, used);
      make_folders(folder_ + "/sources");
      write_file(folder_ + '/' + *source.file, request_->line->text, Durability::none);
      continue;
    }
    const std::string& read_from = *file++;
    const std::string name = fs::path(source.path).filename().string();
    const bool read_in_place = is_attempt_file(name) && !fs::exists(folder_ + '/' + name);
    if (source.size_bytes > kLargestCopy && !read_in_place) continue;
    source.file = read_in_place ? name : "sources/" + free_name(name, used);
    make_folders(fs::path(folder_ + '/' + *source.file).parent_path());
    const std::string why = copy_contents(read_from, folder_ + '/' + *source.file);
    if (!why.empty()) problems_.push_back(fmt::format("{}: cannot be copied: {}", read_from, why));
  }
}

void ImportFolder::read() {
  std::vector<SourceFile> files;
  for (std::size_t i = 0; i < request_->files.size(); ++i)
    files.push_back({request_->files[i], fs::path(imported_.sources[i].path).filename().string(), imported_.sources[i].path});
  const Success& success = configuration().work->success;
  SourceReading reading = read_sources(files, request_->metrics, success.pattern);
  for (const std::string& conflict : reading.conflicts) {
    problems_.push_back(
        conflict +
        ": if they are two runs, take each by itself (`--each`, `each: true`); if they are one, name the file in the metric");
  }
  imported_.values = std::move(reading.values);
  imported_.units = std::move(reading.units);
  imported_.places = std::move(reading.places);
  imported_.series = std::move(reading.series);
  imported_.warnings = std::move(reading.warnings);
  convert_units();
  for (const GivenValue& given : request_->values) {
    if (given.metric.starts_with(kPublished)) {
      imported_.facts[given.metric] = given.printed;
      continue;
    }
    const auto read = imported_.values.find(given.metric);
    if (read != imported_.values.end() && read->second != given.value) {
      imported_.warnings.push_back(fmt::format("{}: {} is given, {} says {}", given.metric, given.printed,
                                               imported_.places[given.metric], read->second));
    }
    imported_.values[given.metric] = given.value;
    imported_.places[given.metric] =
        request_->line ? fmt::format("{}:{}", fs::path(request_->line->table).filename().string(), request_->line->line)
                       : request_->where;
    if (!given.unit.empty()) imported_.units[given.metric] = given.unit;
    std::erase(reading.not_finite, given.metric);
    imported_.facts["printed_" + given.metric] = given.printed;
  }
  if (!reading.not_finite.empty()) {
    std::string& names = imported_.facts[kNanFact];
    names += (names.empty() ? "" : ", ") + join(reading.not_finite, ", ");
  }
  decide_outcome_of_import(reading.said, reading.pattern_found);
}

void ImportFolder::convert_units() {
  for (auto& [metric, unit] : imported_.units) {
    const Metric* const declared = study_->experiment.find_metric(metric);
    if (declared == nullptr || declared->unit.empty() || declared->unit == unit) continue;
    const auto factor = unit_factor(unit, declared->unit);
    if (!factor) {
      problems_.push_back(fmt::format("{}: `{}` is in {} here, and in {} by `metrics`: these do not convert",
                                      imported_.places[metric], metric, unit, declared->unit));
      continue;
    }
    unit = declared->unit;
    imported_.values[metric] *= *factor;
    for (SeriesPoint& point : imported_.series) {
      if (point.name == metric) point.value *= *factor;
    }
  }
}

/// `: no match ...`, the first warning about a metric; empty without one.
static std::string first_warning_of(const std::string& metric, const std::vector<std::string>& warnings) {
  const std::string about = fmt::format("metric {}: ", metric);
  for (const std::string& warning : warnings) {
    if (warning.starts_with(about)) return ": " + warning.substr(about.size());
  }
  return "";
}

void ImportFolder::decide_outcome_of_import(const std::optional<Outcome>& said, std::optional<bool> pattern_found) {
  const auto end_as = [&](State state, std::optional<std::string> reason) {
    imported_.outcome = state;
    imported_.reason = std::move(reason);
  };
  if (request_->outcome) {
    const State state = *parse_state(*request_->outcome);
    if (state == State::succeeded) return end_as(state, std::nullopt);
    if (said && said->state == state) return end_as(state, said->reason);
    const std::string word =
        request_->outcome_word ? fmt::format("the imported outcome is `{}`", *request_->outcome_word) : "as the import says";
    return end_as(state, request_->note.value_or(word));
  }
  if (said) return end_as(said->state, said->reason);
  if (pattern_found == false) {
    return end_as(State::failed,
                  fmt::format("success pattern {} not found", printable(*configuration().work->success.pattern)));
  }
  const std::string metric = study_->experiment.report_metric();
  bool found = imported_.values.contains(metric);
  // What events and gpu.csv say is read as of any attempt.
  const bool has_attempt_files =
      std::any_of(imported_.sources.begin(), imported_.sources.end(),
                  [](const ImportedSource& source) { return source.file && is_attempt_file(*source.file); });
  std::optional<std::string> broken;
  if ((!found && (has_attempt_files || computes() || imported_.facts.contains(kNanFact))) ||
      !configuration().work->success.require.empty()) {
    imported_.outcome = State::succeeded;
    write_file(folder_ + '/' + kImportedFile, imported_json(imported_), Durability::none);
    const AttemptRecord record = read_attempt(folder_);
    found = record.metrics.contains(metric) || is_nan_metric(record, metric);
    broken = broken_requirement(parse_run_json(run_json()), record);
    fs::remove(folder_ + '/' + kImportedFile);
  }
  if (broken) return end_as(State::failed, broken);
  if (found || pattern_found.value_or(false)) return end_as(State::succeeded, std::nullopt);
  std::vector<std::string> given;
  for (const auto& [name, value] : imported_.values) given.push_back(name);
  const std::string misspelt = other_spelling_of(metric, given);
  // Another statistic may be of another metric: it is no run that failed.
  if (misspelt.empty() && !given.empty() && imported_.statistic) return end_as(State::succeeded, std::nullopt);
  const std::string why = misspelt.empty() ? first_warning_of(metric, imported_.warnings) : misspelt;
  end_as(State::failed, fmt::format("no metric found: nothing gives {}{}", metric, why));
}

bool ImportFolder::computes() const {
  const std::vector<Metric>& metrics = configuration().work->metrics;
  return std::any_of(metrics.begin(), metrics.end(), [](const Metric& metric) { return metric.is_formula(); });
}

std::string ImportFolder::run_json() const {
  return imported_run_json(study_->experiment, study_->plan, configuration(), key_, kImportExecutor,
                           metrics_of(*study_, *request_));
}

void ImportFolder::finish() { write_file(folder_ + '/' + kImportedFile, imported_json(imported_), Durability::none); }

void ImportFolder::publish() {
  const std::string final_folder = study_->results + '/' + to_string(key_);
  make_folders(fs::path(final_folder).parent_path());
  std::error_code error;
  fs::rename(folder_, final_folder, error);
  if (error) throw UnavailableError(fmt::format("error: cannot rename {} to {}: {}", folder_, final_folder, error.message()));
}

}  // namespace hpcbench
