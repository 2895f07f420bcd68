#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/glob.hpp"
#include "base/json_writer.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/scan_logs.hpp"
#include "report/escapes.hpp"
#include "scan/study_text.hpp"
#include "spec/read_experiment.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kShown = 10;  // proposals without --all
constexpr std::size_t kAll = 200;   // with --all
constexpr std::size_t kChosen = 5;  // for an experiment file
constexpr double kLikely = 20;      // a score

struct ScanRequest {
  std::vector<std::string> files;
  bool all = false;
  std::string format = "text";
  std::string write;
  std::vector<std::string> metrics;
  std::string file;
};

/// A copy of standard input that has no name any more: proposals read it again.
Descriptor copy_standard_input() {
  const std::string folder = make_temporary_folder("hpcbench-scan");
  const std::string path = folder + "/stdin";
  Descriptor copy(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kSecretFile));
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  std::array<char, 1 << 16> buffer{};
  while (true) {
    const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count == 0) return copy;
    if (count < 0 && errno == EINTR) continue;
    ssize_t written = 0;
    while (count > 0 && written < count) {
      const ssize_t some = ::write(copy.get(), buffer.data() + written, static_cast<std::size_t>(count - written));
      if (some <= 0) break;
      written += some;
    }
    if (count < 0 || written < count)
      throw UnavailableError(fmt::format("error: standard input cannot be copied: {}", std::strerror(errno)));
  }
}

std::string number_text(const std::optional<double>& number) { return number ? fmt::format("{}", *number) : "-"; }

std::string take_text(const Metric& metric) {
  return metric.skip > 0 ? fmt::format("{}, skip {}", metric.take, metric.skip) : metric.take;
}

std::string scan_table(const Scan& scan) {
  std::vector<std::array<std::string, 7>> rows = {{"metric", "unit", "values", "first", "last", "take", "gives"}};
  for (const Proposal& proposal : scan.proposals) {
    const MetricMatches& read = proposal.read;
    rows.push_back({proposal.metric.name, visible_text(proposal.unit()), std::to_string(read.count), number_text(read.first),
                    number_text(read.last), take_text(proposal.metric), number_text(read.value)});
  }
  std::array<std::size_t, 7> widths{};
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text = visible_text(scan.file) + '\n';
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& row = rows[i];
    std::string line = fmt::format("  {:<{}}  {:<{}}  {:>{}}  {:>{}}  {:>{}}  {:<{}}  {}", row[0], widths[0], row[1], widths[1],
                                   row[2], widths[2], row[3], widths[3], row[4], widths[4], row[5], widths[5], row[6]);
    text += line + '\n';
    if (i == 0) continue;
    const Metric& metric = scan.proposals[i - 1].metric;
    text += fmt::format("      {}: {}", metric.source, visible_text(metric.selector));
    if (!metric.index.empty()) text += fmt::format("   index: {}", visible_text(metric.index));
    if (!metric.where.empty()) text += fmt::format("   where {}", visible_text(describe_where(metric.where)));
    text += '\n';
    for (const std::string& warning : scan.proposals[i - 1].read.warnings)
      text += fmt::format("      note: {}\n", visible_text(warning));
  }
  return text;
}

void write_scan(JsonWriter& json, const Scan& scan) {
  json.begin_object(JsonLayout::lines).member("file", scan.file).member("left_out", scan.left_out).key("proposals");
  json.begin_array(JsonLayout::lines);
  for (const Proposal& proposal : scan.proposals) {
    const MetricMatches& read = proposal.read;
    json.begin_object(JsonLayout::lines).key("metric");
    write_metric(json, proposal.metric, true);
    json.member("unit", proposal.unit()).member("count", read.count).member("first", read.first).member("last", read.last);
    json.member("value", read.value).member("place", read.place).member("warnings", read.warnings);
    json.member("yaml", metric_yaml(proposal.metric)).end();
  }
  json.end().member("warnings", scan.warnings).end();
}

void print_scans(const std::vector<Scan>& scans, const ScanRequest& request) {
  if (request.format == "json") {
    JsonWriter json(1);
    json.begin_object(JsonLayout::lines).member("schema", 1).key("files").begin_array(JsonLayout::lines);
    for (const Scan& scan : scans) write_scan(json, scan);
    print_data(json.end().end().take() + "\n");
    return;
  }
  std::vector<std::string> tables;
  for (const Scan& scan : scans) {
    if (!scan.proposals.empty()) tables.push_back(scan_table(scan));
  }
  print_data(join(tables, "\n"));
  for (const Scan& scan : scans) {
    for (const std::string& warning : scan.warnings) say(fmt::format("{}: {}", scan.file, warning));
    if (scan.proposals.empty()) say(fmt::format("{}: no number with a label, a unit or a heading", scan.file));
    if (scan.left_out > 0) {
      say(fmt::format("{}: {} not shown{}", scan.file, counted(scan.left_out, "less likely number", "less likely numbers"),
                      request.all ? "" : "; --all shows more"));
    }
  }
}

/// Refuses what `check` would refuse.
void check_study(const std::string& text, const std::string& file) { parse_experiment(text, file, {}); }

/// Adds metrics to an existing file, keeping its permissions and following a link to it.
void add_to_study(const std::string& file, const std::vector<Proposal>& proposals) {
  const std::filesystem::path path = std::filesystem::canonical(file);
  const std::string text = read_file(path);
  const std::string with = with_metrics(text, file, proposals);
  check_study(with, file);
  const std::filesystem::perms mode = std::filesystem::status(path).permissions();
  write_file(path, with, Durability::durable, kUserFile);
  std::filesystem::permissions(path, mode);
}

void write_proposals(const ScanRequest& request, const std::vector<Scan>& scans) {
  std::error_code error;
  if (!std::filesystem::exists(request.write, error)) {
    if (!request.metrics.empty() || !request.file.empty() || std::count(request.files.begin(), request.files.end(), "-") > 0) {
      throw InputError(fmt::format("error: there is no file {}; `hpcbench init {} --from-log LOG` writes one", request.write,
                                   request.write));
    }
    if (!create_exclusively(request.write,
                            study_from_logs(std::filesystem::path(request.write).stem().string(), request.write, request.files),
                            kUserFile))
      throw InputError(fmt::format("error: {} exists already", request.write));
    say(fmt::format("wrote {}. Next: hpcbench report {}", request.write, request.write));
    return;
  }
  const std::vector<Proposal> chosen = choose_proposals(scans, request.metrics, request.file);
  add_to_study(request.write, chosen);
  std::vector<std::string> names;
  for (const Proposal& proposal : chosen) names.push_back(proposal.metric.name);
  say(fmt::format("added {} to {}: {}. Next: hpcbench check {}",
                  counted(static_cast<long long>(names.size()), "metric", "metrics"), request.write, join(names, ", "),
                  request.write));
}

int scan_and_print(const ScanRequest& request) {
  const bool needs_all = request.all || !request.metrics.empty();
  std::vector<Scan> scans = scan_logs(request.files, needs_all ? kAll : kShown);
  if (!request.write.empty()) {
    write_proposals(request, scans);
    return 0;
  }
  print_scans(scans, request);
  return 0;
}

}  // namespace

std::vector<Scan> scan_logs(const std::vector<std::string>& files, std::size_t limit) {
  std::vector<Scan> scans;
  for (const std::string& file : files) {
    if (file == "-") {
      if (std::count(files.begin(), files.end(), "-") > 1) throw InputError("error: standard input (-) can be read once");
      const Descriptor copy = copy_standard_input();
      scans.push_back(scan_file(fmt::format("/proc/self/fd/{}", copy.get()), "stdout.log", limit));
      continue;
    }
    std::error_code error;
    if (!std::filesystem::is_regular_file(file, error))
      throw InputError(fmt::format("error: {} is no file that can be read", file));
    scans.push_back(scan_file(file, std::filesystem::path(file).filename().string(), limit));
  }
  return scans;
}

std::vector<Proposal> choose_proposals(const std::vector<Scan>& scans, const std::vector<std::string>& names,
                                       const std::string& file) {
  std::vector<Proposal> chosen;
  std::vector<std::string> known;
  for (const std::string& name : names) {
    const Proposal* found = nullptr;
    for (const Scan& scan : scans) {
      for (const Proposal& proposal : scan.proposals) {
        known.push_back(proposal.metric.name);
        if (found == nullptr && proposal.metric.name == name) found = &proposal;
      }
    }
    if (found == nullptr) {
      throw InputError(
          fmt::format("error: --metric {}: no number of the files is called so{}", name, did_you_mean(name, known)));
    }
    chosen.push_back(*found);
  }
  for (const Scan& scan : scans) {
    if (!names.empty() || !chosen.empty()) break;
    for (const Proposal& proposal : scan.proposals) {
      const bool is_likely = proposal.score >= kLikely || chosen.empty();
      if (chosen.size() < kChosen && is_likely) chosen.push_back(proposal);
    }
  }
  if (chosen.empty()) throw InputError("error: the files have no number with a label, a unit or a heading");
  for (Proposal& proposal : chosen) proposal.metric.file = file.empty() ? glob_escaped(proposal.metric.file) : file;
  return chosen;
}

std::string study_from_logs(const std::string& study, const std::string& file, const std::vector<std::string>& logs) {
  namespace fs = std::filesystem;
  if (std::find(logs.begin(), logs.end(), "-") != logs.end())
    throw InputError("error: a study cannot import standard input: save it as a file, then --from-log FILE");
  const std::vector<Proposal> chosen = choose_proposals(scan_logs(logs, kShown), {}, logs.size() > 1 ? "*" : "");
  std::vector<LogOfStudy> of_study;
  for (const std::string& log : logs) {
    const fs::path from = fs::absolute(fs::path(file)).lexically_normal().parent_path();
    const auto is_same_name = [&](const std::string& other) { return fs::path(other).filename() == fs::path(log).filename(); };
    const bool is_unique = std::count_if(logs.begin(), logs.end(), is_same_name) == 1;
    of_study.push_back({fs::absolute(log).lexically_normal().lexically_relative(from).string(),
                        is_unique ? fs::path(log).filename().string() : fs::path(log).string()});
  }
  std::string text = study_of_logs(study, of_study, chosen);
  check_study(text, file);
  return text;
}

void add_scan(commandline::Command& command) {
  const auto request = std::make_shared<ScanRequest>();
  command.add_option("FILE", request->files, "logs, .csv, .tsv, .json, .jsonl; - is standard input").required();
  command.add_flag("--all", request->all, "show unlikely numbers, too");
  command.add_option("--format", request->format, "text or json").one_of({"text", "json"});
  command.add_option("--write", request->write, "add the likely ones to `metrics` of this experiment file, or write a new one")
      .value_name("EXPERIMENT_FILE");
  command.add_option("--metric", request->metrics, "add this one instead; may be repeated").value_name("NAME").needs("--write");
  command.add_option("--file", request->file, "where runs have these numbers, as `stdout.log`; without it the file's own name")
      .value_name("GLOB")
      .needs("--write");
  command.action([=] { return scan_and_print(*request); });
}

}  // namespace hpcbench
