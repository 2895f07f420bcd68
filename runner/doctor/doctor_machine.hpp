#pragma once

#include <string>

namespace hpcbench {

/// Returns the user's login name, or the number if there is none.
std::string user_name();
/// Returns whether the folder (or the nearest one above it that exists) is on a file system that several machines may share.
bool is_on_network_file_system(const std::string& folder);
/// Returns the nearest folder at or above `path` that exists.
std::string existing_folder(const std::string& path);

}  // namespace hpcbench
