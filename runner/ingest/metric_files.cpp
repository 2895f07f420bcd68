#include "ingest/metric_files.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <set>

#include "base/files.hpp"
#include "base/glob.hpp"
#include "base/text.hpp"
#include "ingest/line_reader.hpp"
#include "ingest/metric_scan.hpp"
#include "ingest/preamble.hpp"
#include "ingest/unpacked_file.hpp"
#include "runfiles/layout.hpp"
#include "runfiles/run_info.hpp"

namespace hpcbench {

namespace {

/// `/w/big.csv has 80000000 bytes, too many to keep`, of the first such file that the glob matches.
std::string not_kept(const std::string& list, const std::string& glob) {
  for (const std::string& line : split(list, '\n')) {
    const std::size_t first = line.find(' ');
    const std::size_t second = first == std::string::npos ? first : line.find(' ', first + 1);
    if (second == std::string::npos || line.starts_with("kept ")) continue;
    const std::string path = line.substr(second + 1);
    if (::fnmatch(glob.c_str(), path.c_str(), FNM_PATHNAME) != 0) continue;
    if (line.starts_with("unreadable ")) return printable(path) + " could not be copied when the run ended";
    return fmt::format(
        "{} had {} bytes when the run ended, too many to keep ({} MiB a file, {} MiB a run): let the program write "
        "it to {{{{run_dir}}}}, or say `workdir: attempt`",
        printable(path), line.substr(first + 1, second - first - 1), kLargestOutsideFile >> 20, kLargestOutside >> 20);
  }
  return {};
}

/// Of files that nobody kept those that were last changed while the attempt ran: no other run has written them since.
MetricFiles unchanged_since(const std::vector<std::string>& files, const AttemptPlace& place) {
  MetricFiles found;
  for (const std::string& file : files) {
    if (place.ran && was_changed(file, *place.ran)) {
      found.files.push_back(file);
    } else if (found.left_out.empty()) {
      found.left_out = printable(file) + " was not changed last by this run, and no copy was kept: it is not read";
    }
  }
  return found;
}

/// Relative to the attempt's folder: its program's files begin with `out/`.
std::vector<std::string> names_in(const std::string& folder, const std::string& of_program) {
  std::vector<std::string> names;
  for (const std::string& each : std::set{folder, of_program}) {
    for (const std::string& file : glob_files(glob_escaped(each) + "/*")) names.push_back(file.substr(folder.size() + 1));
  }
  return names;
}

/// The last lines of a text, each behind a bar.
std::string last_lines_of(const std::string& file) {
  constexpr std::size_t kBytes = 2000;
  constexpr std::size_t kLines = 5;
  std::vector<std::string> lines;
  for (const std::string& line : split(read_tail(file, kBytes), '\n')) {
    if (!trim(line).empty()) lines.push_back("  | " + printable(line));
  }
  if (lines.size() > kLines) lines.erase(lines.begin(), lines.end() - kLines);
  return join(lines, "\n");
}

}  // namespace

void add_outside(const std::vector<std::string>& names, std::set<std::string>& outside) {
  const std::string folder = std::string(kOutsideFolder) + '/';
  for (const std::string& name : names) {
    if (name.starts_with(folder)) outside.insert(name.substr(folder.size() - 1));
  }
}

std::string explain_missed_metric(const Metric& metric, const std::string& folder) {
  if (metric.is_formula())
    return fmt::format("its formula {} gives none; `hpcbench show` says why", printable(metric.selector));
  std::string problem;
  const RunInfo info = parse_run_json(read_small_file(folder + "/run.json", problem).value_or(""));
  const std::string of_program = run_dir_of(folder, info);
  const MetricFiles found =
      find_metric_files(metric.file, {folder, of_program, info.workdir, info.outside_globs(), std::nullopt, true});
  if (found.files.empty()) {
    if (!found.left_out.empty()) return found.left_out;
    return fmt::format("no file is {}; in {} are {}", printable(metric.file), folder, join(names_in(folder, of_program), ", "));
  }
  const std::string& file = found.files.back();
  std::string text =
      fmt::format("nothing in {} is what {} {} names{}{}", printable(file), metric.source, printable(metric.selector),
                  metric.where.empty() ? "" : " where " + printable(describe_where(metric.where)),
                  metric.skip > 0 ? fmt::format(" beyond the first {} (`skip`)", metric.skip) : "");
  if (const MetricMatches matches = read_metric(metric, found.files, found.files); matches.not_numbers > 0) {
    text = fmt::format("of what {} {} names in {}, {}", metric.source, printable(metric.selector), printable(file),
                       tell_not_numbers(matches));
    if (matches.count > 0 && !matches.warnings.empty()) text += "; " + join(matches.warnings, "; ");
  }
  if (const std::optional<std::string> missing = missing_header(metric, file))
    text = fmt::format("of {} nothing is read: {}", printable(file), *missing);
  if (metric.source == "tag" || is_packed(file)) return text;  // no text
  const std::string end = last_lines_of(file);
  return end.empty() ? text + ": it is empty" : fmt::format("{}. It ends:\n{}", text, end);
}

void keep_outside_files_late(const std::string& folder) {
  std::string problem;
  if (read_small_file(folder + '/' + kOutsideList, problem)) return;
  const auto text = [&](const char* name) { return read_small_file(folder + '/' + name, problem).value_or(""); };
  const RunInfo info = parse_run_json(text("run.json"));
  const auto globs = info.outside.value_or(std::vector<OutsideGlob>());
  if (globs.empty()) return;
  const std::optional<double> started_unix_s = parse_started(text("started.json")).started_unix_s;
  const std::optional<double> finished_unix_s = parse_finished(text("finished.json")).finished_unix_s;
  if (!started_unix_s || !finished_unix_s) return;
  keep_outside_files(folder, run_dir_of(folder, info), globs, ChangedBetween{*started_unix_s, *finished_unix_s});
}

MetricFiles find_metric_files(const std::string& glob, const AttemptPlace& place) {
  const bool is_relative = !glob.starts_with('/');
  if (is_relative) {
    if (std::vector<std::string> here = attempt_files(glob, place.folder, place.run_dir); !here.empty()) return {here, {}};
  }
  const std::string outside = outside_glob(glob, place.folder, place.workdir);
  if (outside.empty()) return {is_relative ? std::vector<std::string>() : glob_files(glob), {}};
  std::string problem;
  const std::optional<std::string> list = read_small_file(place.folder + '/' + kOutsideList, problem);
  const bool only_copies = list || (place.outside_globs && *place.outside_globs == 0);
  if (!place.has_ended && !list) return {glob_files(outside), {}};
  if (!only_copies) return unchanged_since(glob_files(outside), place);
  MetricFiles found{glob_files(glob_escaped(place.folder) + '/' + kOutsideFolder + outside),
                    not_kept(list.value_or(""), outside)};
  if (found.files.empty() && found.left_out.empty() && !glob_files(outside).empty()) {
    found.left_out =
        "no copy was kept when the run ended: of files outside of the attempt's folder that is done for those "
        "that a metric named then";
  }
  return found;
}

}  // namespace hpcbench
