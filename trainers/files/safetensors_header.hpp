#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "files/safetensors.hpp"

namespace hpcbench::train {

/// The longest accepted header, as in the safetensors project.
inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

/// One entry of the header; its bytes are [begin, end) behind the header.
struct TensorEntry {
  std::string name;
  ElementType type = ElementType::f32;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<TensorEntry> tensors;  // in the order of their bytes, which they fill without holes
  std::vector<std::pair<std::string, std::string>> metadata;
};

/// Parses and checks the JSON text of a header that is followed by `data_bytes` bytes. Total: a header, or a DataError whose
/// text is "error: FILE " and the fault.
SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t data_bytes, const std::string& file);

}  // namespace hpcbench::train
