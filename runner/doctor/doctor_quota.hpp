#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/tool_runner.hpp"

namespace hpcbench {

/// A user's limits on a file system, and their use. A limit that is not set is nullopt; of a soft and a hard limit the lower
/// counts.
struct DiskQuota {
  double used_bytes = 0;
  double used_files = 0;
  std::optional<double> limit_bytes;
  std::optional<double> limit_files;
};

/// Parses the line of file system `source` (`server:/home`, `/dev/sda1`) in the output of `quota -w -p`: file system, 1 kB
/// blocks used (`*`: above the limit), soft and hard limit, grace, then the same for files. nullopt if the line is missing.
std::optional<DiskQuota> parse_quota(std::string_view output, std::string_view source);
/// Parses the output of `lfs quota -q -u USER FOLDER`: path, kB used, soft and hard limit, grace, then the same for files, over
/// one line or two; `[N]` where servers did not answer. nullopt for any other output.
std::optional<DiskQuota> parse_lustre_quota(std::string_view output);

/// Returns the source from which a folder is mounted, by the lines of /proc/self/mountinfo (proc(5)); empty if none fits.
std::string mount_source(std::string_view mountinfo, const std::string& folder);

/// Asks the kernel, else `quota` or `lfs`, for this user's quota on the folder. nullopt if none of them knows one.
std::optional<DiskQuota> ask_quota(const std::string& folder, ToolRunner& tools);

/// Parses the backends in the output of `hpcbench-train --version`: `hpcbench-train 0.3.0 (LibTorch 2.13.0, Gloo, NCCL)` gives
/// Gloo and NCCL.
std::vector<std::string> parse_backends(std::string_view version);

}  // namespace hpcbench
