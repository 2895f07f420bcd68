#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "files/atomic_file.hpp"
#include "files/content_hash.hpp"

namespace hpcbench::train {

/// The supported element types of safetensors files.
enum class ElementType { f64, f32, f16, bf16, i64, i32, u8, boolean };
std::size_t element_bytes(ElementType type);
const char* to_string(ElementType type);  // as in the file: "F64", "BF16"

/// One tensor: row-major elements, little-endian. `bytes` is borrowed; the bytes of a file need not be aligned to the element.
struct StoredTensor {
  std::string name;
  ElementType type = ElementType::f32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

/// A file of the safetensors format, mapped into memory. Opening it checks every bound: the header's size, offsets that
/// overlap, leave holes or lie outside, sizes that contradict shape and type, duplicate names. DataError names the file and the
/// fault; for pytorch_model.bin (a zip or a pickle) it explains how to convert it. The file must not be truncated while it is
/// mapped; replacing it by renaming is safe. Source: the format's description in the safetensors project, version 0.4 and
/// later.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
  ~SafetensorsFile();
  SafetensorsFile(SafetensorsFile&&) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&&) noexcept;

  const std::vector<StoredTensor>& tensors() const;  // in the order of their bytes
  const StoredTensor* find(const std::string& name) const;
  const std::vector<std::pair<std::string, std::string>>& metadata() const;
  /// Reads the whole file. DataError if a sealed file (SafetensorsWriter) differs from what was written; an unsealed one is
  /// accepted.
  void check_seal() const;

 private:
  struct Mapping;
  std::unique_ptr<Mapping> mapping_;
};

/// Whether the metadata of a file contains a hash of its whole content, which detects damage (`hpcbench_xxh3`): XXH3 of the
/// header with 0 for each digit of the hash, and of the XXH3 of each tensor that has bytes, in the order of their bytes.
enum class Seal { none, hash };

/// Writes a file whose tensors are passed one by one, in any order: whole or absent (AtomicFile), with `metadata` under
/// __metadata__ (transformers requires {"format", "pt"}); tensors of larger elements come first, so that all are aligned.
/// DataError if it cannot be written.
class SafetensorsWriter {
 public:
  /// `tensors`: everything but the bytes. `hash`, if given, receives every byte of the file as it is written, so that the file
  /// need not be read again for it; then the tensors must be passed in order().
  SafetensorsWriter(const std::filesystem::path& path, std::span<const StoredTensor> tensors,
                    const std::vector<std::pair<std::string, std::string>>& metadata, ContentHash* hash = nullptr,
                    Seal seal = Seal::none);
  /// Returns the tensors' numbers in the order of their bytes.
  const std::vector<std::size_t>& order() const { return order_; }
  /// Returns the size of the whole file.
  std::uint64_t bytes() const { return bytes_; }
  /// Writes the bytes of `tensors[index]`.
  void write(std::size_t index, std::span<const std::byte> bytes);
  /// DataError if a tensor has not been written.
  void finish();

 private:
  struct Place {
    std::string name;
    std::uint64_t begin = 0;  // in the file
    std::uint64_t bytes = 0;
    bool is_written = false;
    ContentHash::Digest digest = {};  // for the seal
  };
  std::string sealed_header() const;
  std::filesystem::path path_;
  AtomicFile file_;
  std::vector<Place> places_;  // by index
  std::vector<std::size_t> order_;
  std::uint64_t bytes_ = 0;
  ContentHash* hash_;
  std::uint64_t hashed_ = 0;  // bytes at the file's beginning that hash_ has received
  std::string header_;        // with zeros for the seal; empty: no seal
};

/// Writes all tensors at once.
void write_safetensors(const std::filesystem::path& path, std::span<const StoredTensor> tensors,
                       const std::vector<std::pair<std::string, std::string>>& metadata, Seal seal = Seal::none);

}  // namespace hpcbench::train
