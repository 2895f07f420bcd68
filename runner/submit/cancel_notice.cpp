#include "submit/cancel_notice.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

constexpr int kNoticeDigits = 16;

std::string notice_path(const std::string& results) { return results + "/last_cancel"; }

/// The first line is new each time, the second is the last request to end.
void write_notice(const std::string& results, const std::string& request) {
  try {
    write_file(notice_path(results),
               fmt::format("{} {:.0f} {}\n{}\n", host_name(), unix_time_s(), random_hex(kNoticeDigits), request),
               Durability::none);
  } catch (const UnavailableError&) {
    // The next poll sees the same, later.
  }
}

}  // namespace

void leave_cancel_notice(const std::string& results) { write_notice(results, read_end_request(results)); }

void request_end(const std::string& results) { write_notice(results, random_hex(kNoticeDigits)); }

std::string read_end_request(const std::string& results) {
  const std::vector<std::string> lines = split(read_cancel_notice(results), '\n');
  return lines.size() < 2 ? "" : lines[1];
}

std::string read_cancel_notice(const std::string& results) {
  try {
    // Opened each time: that is when NFS asks the server whether a file is still the same.
    return read_file_if_there(notice_path(results)).value_or("");
  } catch (const UnavailableError&) {
    return {};
  }
}

}  // namespace hpcbench
