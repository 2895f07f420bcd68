#include "submit/prepare.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/log.hpp"
#include "base/process.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kPrepareTail = 2000;  // bytes of output in an error

}  // namespace

void run_prepare(const std::vector<std::string>& command, const std::string& folder, const std::string& log_path) {
  const Descriptor log = open_study_file(log_path, O_TRUNC);
  if (log.get() < 0) throw UnavailableError(fmt::format("error: cannot write {}: {}", log_path, std::strerror(errno)));
  const std::string shown = join(command, " ");
  ToolCall call;
  call.argv = command;
  call.folder = folder;
  call.timeout_s = std::numeric_limits<double>::infinity();  // it may fetch data for hours; Ctrl-C ends it
  call.own_session = false;
  call.output_fd = log.get();
  log_info(fmt::format("prepare begins: {}", shown));
  const ToolResult result = run_tool(call);
  log_info(fmt::format("prepare: {}", describe(result)));
  if (result.succeeded()) return;
  if (result.kind == ToolResult::Kind::not_started) {
    throw UnavailableError(fmt::format("error: cannot start `prepare` ({}): {}", shown, std::strerror(result.status)));
  }
  throw UnavailableError(fmt::format("error: `prepare` ({}) failed: {}; nothing was submitted. The end of {}:\n{}", shown,
                                     describe(result), log_path, trim(read_tail(log_path, kPrepareTail))));
}

}  // namespace hpcbench
