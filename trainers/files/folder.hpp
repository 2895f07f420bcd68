#pragma once

#include <filesystem>

namespace hpcbench::train {

/// Makes the folder and those above it. DataError where that fails, or where it cannot be written to.
void make_folder(const std::filesystem::path& folder);

}  // namespace hpcbench::train
