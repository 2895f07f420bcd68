#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "doctor/doctor.hpp"
#include "doctor/doctor_machine.hpp"
#include "doctor/doctor_quota.hpp"

namespace hpcbench {

namespace {

constexpr double kFilesPerRun = 12;     // of one attempt with its folders and one process
constexpr double kLittleSpace = 1e9;    // bytes
constexpr double kNoSpace = 20e6;       // bytes
constexpr double kBytesPerRun = 100e3;  // run.json, job.sh and small logs

void add_result_finding(Findings& findings, Finding::Kind kind, std::string text, std::string advice = "") {
  findings.push_back({kind, std::move(text), std::move(advice)});
}

bool can_write_in(const std::string& folder) {
  std::string pattern = folder + "/.hpcbench-doctor-" + std::string(6, 'X');
  const int fd = ::mkstemp(pattern.data());
  if (fd < 0) return false;
  ::close(fd);
  ::unlink(pattern.c_str());
  return true;
}

/// A file system may have plenty of space while this user's quota is small.
void examine_quota(const Study& study, double runs, ToolRunner& tools, Findings& findings) {
  const std::string folder = existing_folder(study.results);
  const std::optional<DiskQuota> quota = ask_quota(folder, tools);
  const double files = runs * kFilesPerRun;
  if (!quota) {
    if (is_on_network_file_system(folder)) {
      add_result_finding(
          findings, Finding::Kind::fine,
          fmt::format("your quota in {} cannot be known from here: {:.0f} runs make about {:.0f} files", folder, runs, files));
    }
    return;
  }
  if (quota->limit_files && *quota->limit_files - quota->used_files < files) {
    add_result_finding(
        findings, Finding::Kind::problem,
        fmt::format("your quota leaves {:.0f} of {:.0f} files in {}, and {:.0f} runs make about {:.0f}",
                    std::max(0.0, *quota->limit_files - quota->used_files), *quota->limit_files, folder, runs, files),
        "remove files there, or name another folder with --results");
  }
  if (quota->limit_bytes && *quota->limit_bytes - quota->used_bytes < kNoSpace + runs * kBytesPerRun) {
    add_result_finding(
        findings, Finding::Kind::problem,
        fmt::format("your quota leaves {:.0f} of {:.0f} MB in {} for {:.0f} runs",
                    std::max(0.0, *quota->limit_bytes - quota->used_bytes) / 1e6, *quota->limit_bytes / 1e6, folder, runs),
        "free some space, or name another folder with --results");
  }
}

}  // namespace

void examine_results(const Study& study, ToolRunner& tools, Findings& findings) {
  const std::string folder = existing_folder(study.results);
  if (!std::filesystem::is_directory(folder)) {
    add_result_finding(findings, Finding::Kind::problem, fmt::format("{} is no folder", folder),
                       "move it, or name another folder with --results");
    return;
  }
  if (!can_write_in(folder)) {
    add_result_finding(findings, Finding::Kind::problem, fmt::format("cannot write in {}: {}", folder, std::strerror(errno)),
                       "mend its permissions, or name another folder with --results");
    return;
  }
  struct statvfs space {};
  if (::statvfs(folder.c_str(), &space) != 0) return;
  const double runs = static_cast<double>(study.selected().configurations.size()) * study.selected().repeats;
  const double bytes = static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize);
  const double files = static_cast<double>(space.f_favail);
  if (bytes < kNoSpace + runs * kBytesPerRun) {
    add_result_finding(findings, Finding::Kind::problem,
                       fmt::format("{:.0f} MB free in {} for {:.0f} runs", bytes / 1e6, folder, runs),
                       "free some space, or name another folder with --results");
  } else if (bytes < kLittleSpace) {
    add_result_finding(findings, Finding::Kind::warning, fmt::format("only {:.0f} MB free in {}", bytes / 1e6, folder),
                       "enough for small logs; checkpoints may not fit");
  }
  if (space.f_files > 0 && files < runs * kFilesPerRun) {
    add_result_finding(findings, Finding::Kind::problem,
                       fmt::format("{:.0f} more files may be made in {}, and {:.0f} runs make about {:.0f}", files, folder,
                                   runs, runs * kFilesPerRun),
                       "remove files there, or name another folder with --results");
  }
  examine_quota(study, runs, tools, findings);
  if (findings.empty()) {
    add_result_finding(findings, Finding::Kind::fine,
                       fmt::format("results go to {}: {:.0f} GB free", study.results, bytes / 1e9));
  }
}

}  // namespace hpcbench
