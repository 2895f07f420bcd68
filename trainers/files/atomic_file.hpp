#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace hpcbench::train {

/// Writes the parts, one after the other, to a file that is whole or absent: under a temporary name beside `path`, fsync,
/// rename. DataError, with the system's reason, if it cannot be written; then no temporary file is left.
void write_atomically(const std::filesystem::path& path, std::span<const std::span<const std::byte>> parts);
void write_atomically(const std::filesystem::path& path, std::string_view text);

}  // namespace hpcbench::train
