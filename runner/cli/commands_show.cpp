#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/interrupt.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/study_options.hpp"
#include "ingest/metric_origin.hpp"
#include "ingest/reading.hpp"
#include "report/escapes.hpp"
#include "runfiles/layout.hpp"
#include "runfiles/run_info.hpp"
#include "study/run_reference.hpp"
#include "study/study.hpp"
#include "submit/judge.hpp"

namespace hpcbench {

namespace {

constexpr const char* kRunForm = "[EXPERIMENT/](CONFIG_ID prefix, axis=value,... or value,...)[/rNN[/aN]]";
constexpr double kTailInterval = 0.2;  // seconds between looks at a file that `logs -f` follows

std::string absolute_root(const std::string& results) { return std::filesystem::absolute(results).lexically_normal().string(); }

/// `  name  value` lines; absent values have no line.
class Lines {
 public:
  /// Values of users may hold anything: a line stays a line, and no terminal is driven.
  void add(const std::string& name, const std::string& value) {
    text_ += fmt::format("{:<18} {}\n", visible_text(name), visible_text(value));
  }
  template <typename T>
  void add(const std::string& name, const std::optional<T>& value) {
    if (value) add(name, fmt::format("{}", *value));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string with_unit(const AttemptRecord& record, const std::string& name, double value) {
  const auto unit = record.units.find(name);
  return fmt::format("{}{}", value, unit == record.units.end() ? "" : " " + unit->second);
}

/// Each number, and where it stands: a file of the attempt's folder, and the
/// line or the event.
void add_metrics(Lines& lines, const AttemptRecord& record, const std::string& folder) {
  for (const auto& [name, value] : record.metrics) {
    const std::string source = metric_origin(record, folder, name);
    const std::string number = with_unit(record, name, value);
    lines.add(name, source.empty() ? number : fmt::format("{:<24} from {}", number, source));
  }
  for (const std::string& name : nan_metrics(record)) {
    if (!record.metrics.contains(name)) lines.add(name, "nan");
  }
  std::map<std::string, std::vector<std::string>> series;
  for (const SeriesPoint& point : record.series) {
    const std::string place = point.word.empty() ? std::to_string(point.index) : printable(point.word);
    series[point.name].push_back(fmt::format("{}: {:.6g}", place, point.value));
  }
  constexpr std::size_t kMostPoints = 12;
  for (auto& [name, points] : series) {
    const std::size_t count = points.size();
    if (count > kMostPoints) points.resize(kMostPoints);
    lines.add("series " + name,
              join(points, ", ") + (count > kMostPoints ? fmt::format(" and {} more", count - kMostPoints) : ""));
  }
}

void add_origin(Lines& lines, const std::string& folder) {
  const auto add = [&](const char* label, const std::string& text) {
    if (!text.empty()) lines.add(label, text);
  };
  const std::string run_json = read_file_if_there(folder + "/run.json").value_or("");
  add("command", command_line_of(folder));
  add("task", run_json_field(run_json, "task"));
  add("seed", run_json_field(run_json, "seed"));
  add("working directory", run_json_field(run_json, "workdir"));
  for (const std::string& source : imported_sources(folder)) lines.add("imported from", source);
  add("job script", std::filesystem::exists(folder + "/job.sh") ? folder + "/job.sh" : "");
}

/// The traceback whose last line the reason quotes.
void add_traceback(Lines& lines, const AttemptRecord& record, const std::string& folder) {
  if (record.state == State::succeeded) return;
  const std::string tail = parse_finished(read_file_if_there(folder + "/finished.json").value_or("")).tail;
  const std::size_t begin = tail.find("Traceback (most recent call last):");
  if (begin == std::string::npos) return;
  std::string name = "traceback";
  for (const std::string& line : split(tail.substr(begin), '\n')) lines.add(std::exchange(name, ""), line);
}

/// Names relative to the attempt's folder: its program's files begin with `out/`.
std::string list_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const std::string& each : std::set{folder, run_dir_of(folder)}) {
    std::error_code error;
    for (std::filesystem::directory_iterator entry(each, error), end; !error && entry != end; entry.increment(error)) {
      files.push_back(entry->path().string().substr(folder.size() + 1) + (entry->is_directory(error) ? "/" : ""));
    }
  }
  std::sort(files.begin(), files.end());
  return join(files, " ");
}

/// `backup ran (by anna, 2026-11-28 09:41 UTC)`.
std::string aside_text(const SetAside& aside) {
  std::vector<std::string> parts;
  if (!aside.by.empty()) parts.push_back("by " + aside.by);
  if (aside.unix_s) parts.push_back(fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(static_cast<std::time_t>(*aside.unix_s))));
  return parts.empty() ? aside.why : fmt::format("{} ({})", aside.why, join(parts, ", "));
}

/// False for a run of a study without GPUs, as its run.json says, unless it recorded one.
bool run_has_gpus(const AttemptRecord& record, const std::string& folder) {
  if (record.gpus == 0) return false;
  const std::string run_json = read_file_if_there(folder + "/run.json").value_or("");
  return run_json_field(run_json, "has_gpus") != "false" || record.facts.contains("gpu_model");
}

std::string describe_attempt(const FoundRun& found, const std::string& folder) {
  // Read again: what the index holds does not say where each number came from.
  const Reading reading = read_reading(std::filesystem::path(folder).parent_path().parent_path().parent_path().string());
  const AttemptRecord read = read_attempt(folder, reading.find(found.record.key.config_id));
  const AttemptRecord& record = is_outcome(read.state) ? read : found.record;
  Lines lines;
  lines.add("run", fmt::format("{}/{}", found.experiment, to_string(record.key)));
  const bool has_gpus = run_has_gpus(record, folder);
  Bindings axes = record.axes;
  if (!has_gpus) std::erase_if(axes, [](const auto& axis) { return axis.first == "gpus_per_node"; });
  lines.add("configuration", describe(axes));
  lines.add("state", std::string(shown_name(record.state)));
  lines.add("reason", record.is_void ? explain_void(record.reason.value_or("")) : record.reason);
  if (record.aside) lines.add("set aside", aside_text(*record.aside));
  if (has_gpus) lines.add("gpus", std::to_string(record.gpus));
  lines.add("executor", record.executor);
  lines.add("job", record.job);
  lines.add("batch", record.batch);
  lines.add("node", record.node);
  lines.add("exit code", record.exit_code);
  lines.add("signal", record.signal);
  add_traceback(lines, record, folder);
  add_origin(lines, folder);
  add_metrics(lines, record, folder);
  for (const auto& [name, value] : record.facts) {
    if (has_gpus || name != "gpus") lines.add(name, value);
  }
  for (const std::string& warning : record.warnings) lines.add("warning", warning);
  lines.add("folder", folder);
  lines.add("files", list_files(folder));
  return lines.text();
}

int show_run(const std::string& results, const std::string& reference, bool path_only) {
  const FoundRun found = find_run(absolute_root(results), reference);
  const std::string folder = absolute_root(results) + "/" + found.experiment + "/" + to_string(found.record.key);
  print_data(path_only ? folder + "\n" : describe_attempt(found, folder));
  return 0;
}

bool has_ended(const std::string& folder) {
  return std::filesystem::exists(folder + "/finished.json") || std::filesystem::exists(folder + "/settled.json");
}

/// Prints what a stream holds from where it stands to its end.
void print_rest(std::ifstream& stream) {
  std::string chunk(1 << 16, '\0');
  while (stream.read(chunk.data(), static_cast<std::streamsize>(chunk.size())) || stream.gcount() > 0) {
    print_data(chunk.substr(0, static_cast<std::size_t>(stream.gcount())));
  }
  stream.clear();  // a file that grows has an end that moves
  std::fflush(stdout);
}

/// Prints a file, and with `follow` what is added to it until the attempt ends
/// or Ctrl-C.
void print_log(const std::string& folder, const std::string& file, bool follow) {
  catch_interrupts();
  std::ifstream stream;
  while (true) {
    const bool last = !follow || has_ended(folder) || interrupted() != 0;
    if (!stream.is_open()) stream.open(file, std::ios::binary);
    if (stream.is_open()) print_rest(stream);
    if (last) return;
    system_clock().sleep(kTailInterval);
  }
}

struct LogOptions {
  std::string results = "results";
  std::string run;
  int rank = 0;
  bool stderr_log = false;
  bool follow = false;
};

int print_logs(const LogOptions& options) {
  const FoundRun found = find_run(absolute_root(options.results), options.run);
  const std::string folder = absolute_root(options.results) + "/" + found.experiment + "/" + to_string(found.record.key);
  const std::string file = fmt::format("{}/{}{}.log", folder, options.stderr_log ? "stderr" : "stdout",
                                       options.rank == 0 ? "" : fmt::format(".{}", options.rank));
  if (!options.follow && !std::filesystem::exists(file)) {
    const bool begun = std::filesystem::exists(folder + "/stdout.log") || std::filesystem::exists(folder + "/stderr.log");
    if (found.record.key.run.is_imported()) {
      throw InputError(fmt::format("error: `{}` is an imported run, which prints nothing; its files are in {}/sources",
                                   options.run, folder));
    }
    throw InputError(
        begun && options.rank > 0
            ? fmt::format("error: `{}` has no rank {} ({} is not there)", options.run, options.rank, file)
            : fmt::format("error: `{}` has printed nothing yet ({} is not there); `hpcbench status` says where it stands",
                          options.run, file));
  }
  print_log(folder, file, options.follow);
  return 0;
}

}  // namespace

void add_show(commandline::Command& command) {
  const auto results = std::make_shared<std::string>("results");
  const auto run = std::make_shared<std::string>();
  const auto path_only = std::make_shared<bool>(false);
  command.add_option("RUN", *run, kRunForm).required();
  command.add_flag("--path", *path_only, "print only the attempt's folder");
  add_results_option(command, *results);
  command.action([=] { return show_run(*results, *run, *path_only); });
}

void add_logs(commandline::Command& command) {
  const auto options = std::make_shared<LogOptions>();
  command.add_option("RUN", options->run, kRunForm).required();
  command.add_option("--rank", options->rank, "whose output").shows_initial("0").at_least(0);
  command.add_flag("--stderr", options->stderr_log, "standard error instead of standard output");
  command.add_flag("-f,--follow", options->follow, "go on until the run ends");
  add_results_option(command, options->results);
  command.action([=] { return print_logs(*options); });
}

}  // namespace hpcbench
