#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "files/content_hash.hpp"
#include "files/safetensors.hpp"
#include "optim/model.hpp"

namespace hpcbench::train {

/// Returns a copy of a stored tensor in its own type, on the CPU.
at::Tensor to_tensor(const StoredTensor& stored);

/// A safetensors file whose tensors (contiguous or not, on any device) are passed one by one, in any order: each is copied to
/// the host and written, none is kept.
class TensorsWriter {
 public:
  /// `layout`: names, sizes and types. `hash`, `seal`, order() and bytes() are those of the SafetensorsWriter.
  TensorsWriter(const std::filesystem::path& path, const std::vector<NamedTensor>& layout,
                const std::vector<std::pair<std::string, std::string>>& metadata, ContentHash* hash = nullptr,
                Seal seal = Seal::none);
  const std::vector<std::size_t>& order() const { return file_.order(); }
  std::uint64_t bytes() const { return file_.bytes(); }
  /// Writes the values of `layout[index]`.
  void write(std::size_t index, const at::Tensor& tensor);
  /// Completes the file: without this call it is removed.
  void finish() { file_.finish(); }

 private:
  SafetensorsWriter file_;
};

/// Writes tensors (contiguous or not, of any stored type) as one safetensors file, whole or not at all.
void write_tensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                   const std::vector<std::pair<std::string, std::string>>& metadata);

}  // namespace hpcbench::train
