#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hpcbench::train {

/// Element types of safetensors files that are understood.
enum class ElementType { f64, f32, f16, bf16, i64, i32, u8, boolean };
std::size_t element_bytes(ElementType type);
const char* to_string(ElementType type);  // as in the file: "F64", "BF16"

/// One tensor: row-major elements, little-endian. `bytes` is borrowed; those of a file need not be aligned to the element.
struct StoredTensor {
  std::string name;
  ElementType type = ElementType::f32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

/// A file of the safetensors format, mapped into memory. Every bound is checked when it is opened: the header's size, offsets
/// that overlap, leave holes or lie outside, sizes that do not agree with shape and type, names that occur twice. DataError
/// names the file and what is wrong; for pytorch_model.bin (a zip or a pickle) it says how to convert it.
/// The file must not be cut off while it is mapped; a writer that replaces it by renaming does no harm.
/// Source: the format's description in the safetensors project, version 0.4 and later.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
  ~SafetensorsFile();
  SafetensorsFile(SafetensorsFile&&) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&&) noexcept;

  const std::vector<StoredTensor>& tensors() const;  // in the order of their bytes
  const StoredTensor* find(const std::string& name) const;
  const std::vector<std::pair<std::string, std::string>>& metadata() const;

 private:
  struct Mapping;
  std::unique_ptr<Mapping> mapping_;
};

/// Writes a file that is whole or absent (temporary name, fsync, rename), with `metadata` under __metadata__ (transformers
/// wants {"format", "pt"}); tensors of larger elements come first, so that all are aligned. DataError if it cannot be written.
void write_safetensors(const std::filesystem::path& path, std::span<const StoredTensor> tensors,
                       const std::vector<std::pair<std::string, std::string>>& metadata);

}  // namespace hpcbench::train
