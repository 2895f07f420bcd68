#include "runfiles/rank_report.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "runfiles/job_files.hpp"

namespace hpcbench {

namespace {

std::string report_path(const std::string& folder, int rank) { return fmt::format("{}/{}.json", folder, rank); }
std::string first_failed_path(const std::string& folder) { return folder + "/first_failed"; }

template <typename T>
std::optional<T> optional_member(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? std::nullopt : std::optional<T>(found->get<T>());
}

}  // namespace

std::string rank_report_json(const RankReport& report) {
  JsonWriter json;
  write_process(json.begin_object(), report.end);
  if (report.oom_kill) json.member("oom_kill", true);
  if (report.error) json.member("error", *report.error);
  if (report.tail) json.member("tail", *report.tail);
  return json.end().take() + "\n";
}

std::optional<RankReport> parse_rank_report(const std::string& text) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    RankReport report;
    report.end.rank = json.at("rank").get<int>();
    report.end.exit_code = optional_member<int>(json, "exit_code");
    report.end.signal = optional_member<int>(json, "signal");
    report.end.wall_s = json.at("wall_s").get<double>();
    report.end.usage_known = !json.at("user_s").is_null();
    if (report.end.usage_known) {
      report.end.user_s = json.at("user_s").get<double>();
      report.end.sys_s = json.at("sys_s").get<double>();
      report.end.max_rss_bytes = json.at("max_rss_bytes").get<long long>();
    }
    report.oom_kill = optional_member<bool>(json, "oom_kill").value_or(false);
    report.error = optional_member<std::string>(json, "error");
    report.tail = optional_member<std::string>(json, "tail");
    if (report.end.exit_code.has_value() == report.end.signal.has_value()) return std::nullopt;
    return report;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

void write_rank_report(const std::string& try_folder, const RankReport& report, bool failed) {
  write_file(report_path(try_folder, report.end.rank), rank_report_json(report), Durability::none);
  if (!failed) return;
  const Descriptor fd(::open(first_failed_path(try_folder).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kStudyFile));
  if (fd.get() < 0) return;  // another was first
  const std::string text = fmt::format("{}\n", report.end.rank);
  [[maybe_unused]] const ssize_t written = ::write(fd.get(), text.data(), text.size());
}

std::vector<RankReport> read_rank_reports(const std::string& try_folder, int processes) {
  std::vector<RankReport> reports;
  for (int rank = 0; rank < processes; ++rank) {
    const std::optional<std::string> text = read_file_if_there(report_path(try_folder, rank));
    std::optional<RankReport> report = text ? parse_rank_report(*text) : std::nullopt;
    if (report && report->end.rank == rank) reports.push_back(std::move(*report));
  }
  return reports;
}

std::optional<int> read_first_failed(const std::string& try_folder) {
  const std::string text = read_file_if_there(first_failed_path(try_folder)).value_or("");
  int rank = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (error != std::errc() || end == text.data() + text.size() || *end != '\n') return std::nullopt;
  return rank;
}

}  // namespace hpcbench
