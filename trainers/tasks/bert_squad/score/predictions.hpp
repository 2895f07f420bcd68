#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

namespace hpcbench::train {

/// Reads predictions in the official format: one JSON object, question id -> text. Of a duplicate key the later one counts.
/// DataError names the file and the place of broken JSON, or the id whose prediction is no string.
std::unordered_map<std::string, std::string> read_predictions(const std::filesystem::path& path);

/// Writes them in this order, whole or not at all, like json.dumps(indent=4): in ASCII. Bytes that are no UTF-8 become U+FFFD.
void write_predictions(const std::filesystem::path& path, std::span<const std::pair<std::string, std::string>> predictions);

}  // namespace hpcbench::train
