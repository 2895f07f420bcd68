#pragma once

#include <filesystem>

namespace hpcbench::train {

/// Makes the folder and its missing parents. DataError if that fails, or if it cannot be written to.
void make_folder(const std::filesystem::path& folder);

}  // namespace hpcbench::train
