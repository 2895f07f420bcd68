#pragma once

#include <string>

namespace hpcbench {

// Why `hpcbench launch` could not carry an attempt to its end, as where it could not write a file: the text of a symbolic link
// in the attempt's folder, for which most file systems have room even when they are full.

/// `text` loses the path of the attempt's folder: a short one needs no block.
void note_launch_error(const std::string& folder, std::string text);

/// `cannot write finished.json: No space left on device`; empty where nothing was noted.
std::string read_launch_error(const std::string& folder);

}  // namespace hpcbench
