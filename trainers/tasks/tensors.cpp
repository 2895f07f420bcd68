#include "tasks/tensors.hpp"

#include <ATen/ops/empty.h>

#include <cstring>

namespace hpcbench::train {

namespace {

constexpr std::pair<ElementType, at::ScalarType> kStoredTypes[] = {
    {ElementType::f64, at::kDouble},    {ElementType::f32, at::kFloat},   {ElementType::f16, at::kHalf},
    {ElementType::bf16, at::kBFloat16}, {ElementType::i64, at::kLong},    {ElementType::i32, at::kInt},
    {ElementType::u8, at::kByte},       {ElementType::boolean, at::kBool}};

at::ScalarType scalar_type_of(ElementType type) {
  for (const auto& [stored, scalar] : kStoredTypes) {
    if (stored == type) return scalar;
  }
  TORCH_CHECK(false, "no tensor has the stored type ", to_string(type));
}

ElementType element_type_of(at::ScalarType type) {
  for (const auto& [stored, scalar] : kStoredTypes) {
    if (scalar == type) return stored;
  }
  TORCH_CHECK(false, "tensors of the type ", type, " cannot be stored");
}

std::vector<StoredTensor> stored_layout(const std::vector<NamedTensor>& tensors) {
  std::vector<StoredTensor> layout;
  for (const NamedTensor& each : tensors)
    layout.push_back({each.name, element_type_of(each.tensor.scalar_type()), each.tensor.sizes().vec(), {}});
  return layout;
}

}  // namespace

at::Tensor to_tensor(const StoredTensor& stored) {
  at::Tensor tensor = at::empty(stored.shape, scalar_type_of(stored.type));
  if (!stored.bytes.empty()) std::memcpy(tensor.mutable_data_ptr(), stored.bytes.data(), stored.bytes.size());
  return tensor;
}

TensorsWriter::TensorsWriter(const std::filesystem::path& path, const std::vector<NamedTensor>& layout,
                             const std::vector<std::pair<std::string, std::string>>& metadata, ContentHash* hash, Seal seal)
    : file_(path, stored_layout(layout), metadata, hash, seal) {}

void TensorsWriter::write(std::size_t index, const at::Tensor& tensor) {
  const at::Tensor values = tensor.detach().to(at::kCPU).contiguous();
  file_.write(index, {static_cast<const std::byte*>(values.const_data_ptr()), values.nbytes()});
}

void write_tensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                   const std::vector<std::pair<std::string, std::string>>& metadata) {
  TensorsWriter writer(path, tensors, metadata);
  for (std::size_t index = 0; index < tensors.size(); ++index) writer.write(index, tensors[index].tensor);
  writer.finish();
}

}  // namespace hpcbench::train
