#include "submit/cancel_notice.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/host.hpp"

namespace hpcbench {

namespace {

constexpr int kNoticeDigits = 16;

std::string notice_path(const std::string& results) { return results + "/last_cancel"; }

}  // namespace

void leave_cancel_notice(const std::string& results) {
  try {
    write_file(notice_path(results), fmt::format("{} {:.0f} {}\n", host_name(), unix_time_s(), random_hex(kNoticeDigits)),
               Durability::none);
  } catch (const UnavailableError&) {
    // The next poll sees the same, later.
  }
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
