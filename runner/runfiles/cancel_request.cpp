#include "runfiles/cancel_request.hpp"

#include <unistd.h>

#include "base/files.hpp"

namespace hpcbench {

namespace {

std::string request_path(const std::string& folder) { return folder + "/cancel_requested"; }

}  // namespace

bool is_cancel_requested(const std::string& folder) { return ::access(request_path(folder).c_str(), F_OK) == 0; }

void request_cancel(const std::string& folder) { write_file(request_path(folder), "", Durability::none); }

}  // namespace hpcbench
