#pragma once

#include <string>

namespace hpcbench {

/// Login name of the user, or the number where there is none.
std::string user_name();
/// Whether the folder (or the nearest one above it that exists) is on a file system that several machines may share.
bool is_on_network_file_system(const std::string& folder);
/// The nearest folder at or above `path` that exists.
std::string existing_folder(const std::string& path);

}  // namespace hpcbench
