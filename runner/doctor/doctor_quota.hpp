#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/tool_runner.hpp"

namespace hpcbench {

/// A user's limits on a file system, and the use of it. Limits that are not set are absent; of a soft and a hard one the
/// lower counts.
struct DiskQuota {
  double used_bytes = 0;
  double used_files = 0;
  std::optional<double> limit_bytes;
  std::optional<double> limit_files;
};

/// The line of file system `source` (`server:/home`, `/dev/sda1`) in the output of `quota -w -p`: file system, 1 kB blocks used
/// (`*`: too many), soft and hard limit, grace, then the same of files. Absent if there is none.
std::optional<DiskQuota> parse_quota(std::string_view output, std::string_view source);
/// The output of `lfs quota -q -u USER FOLDER`: path, kB used, soft and hard limit, grace, then the same of files, over one
/// line or two; `[N]` where servers did not answer. Absent if it is something else.
std::optional<DiskQuota> parse_lustre_quota(std::string_view output);

/// Where a folder is mounted from, by the lines of /proc/self/mountinfo (proc(5)); empty if none fits.
std::string mount_source(std::string_view mountinfo, const std::string& folder);

/// What the kernel, else `quota` or `lfs`, says of this user's quota there. Absent if none of them knows one.
std::optional<DiskQuota> ask_quota(const std::string& folder, ToolRunner& tools);

/// The backends that `hpcbench-train --version` names: `hpcbench-train 0.3.0 (LibTorch 2.13.0, Gloo, NCCL)` gives Gloo and
/// NCCL.
std::vector<std::string> parse_backends(std::string_view version);

}  // namespace hpcbench
