#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace hpcbench::train {

/// Returns the text of a JSON file. DataError if it cannot be read, or contains a NUL, which nlohmann-json would take for its
/// end.
std::string read_json_text(const std::filesystem::path& path);

/// Throws "error: FILE:LINE:COLUMN is not JSON here": `position` counts the bytes that nlohmann-json had read.
[[noreturn]] void fail_as_broken_json(const std::filesystem::path& path, std::string_view text, std::size_t position);

}  // namespace hpcbench::train
