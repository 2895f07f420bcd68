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
  /// Reads all of it. DataError where a sealed file (SafetensorsWriter) is not what was written; another one is taken as it is.
  void check_seal() const;

 private:
  struct Mapping;
  std::unique_ptr<Mapping> mapping_;
};

/// Whether the metadata of a file has a hash of all that it holds, which tells damage (`hpcbench_xxh3`): XXH3 of the header
/// with 0 for each digit of the hash, and of the XXH3 of each tensor that has bytes, in the order of their bytes.
enum class Seal { none, hash };

/// Writes a file whose tensors come one by one, in any order: whole or absent (AtomicFile), with `metadata` under __metadata__
/// (transformers wants {"format", "pt"}); tensors of larger elements come first, so that all are aligned. DataError if it
/// cannot be written.
class SafetensorsWriter {
 public:
  /// Of `tensors` all but the bytes. `hash`, if given, hears every byte of the file as it is written, so that nobody reads the
  /// file again for it; then the tensors must come as in order().
  SafetensorsWriter(const std::filesystem::path& path, std::span<const StoredTensor> tensors,
                    const std::vector<std::pair<std::string, std::string>>& metadata, ContentHash* hash = nullptr,
                    Seal seal = Seal::none);
  /// The tensors' numbers in the order of their bytes.
  const std::vector<std::size_t>& order() const { return order_; }
  /// Of the whole file.
  std::uint64_t bytes() const { return bytes_; }
  /// The bytes of `tensors[index]`.
  void write(std::size_t index, std::span<const std::byte> bytes);
  /// DataError where a tensor has not been written.
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
  std::uint64_t heard_ = 0;  // bytes of the file's beginning, by hash_
  std::string header_;       // with zeros for the seal; empty: there is none
};

/// All at once.
void write_safetensors(const std::filesystem::path& path, std::span<const StoredTensor> tensors,
                       const std::vector<std::pair<std::string, std::string>>& metadata, Seal seal = Seal::none);

}  // namespace hpcbench::train
