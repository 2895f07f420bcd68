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

}  // namespace

at::Tensor to_tensor(const StoredTensor& stored) {
  at::Tensor tensor = at::empty(stored.shape, scalar_type_of(stored.type));
  if (!stored.bytes.empty()) std::memcpy(tensor.mutable_data_ptr(), stored.bytes.data(), stored.bytes.size());
  return tensor;
}

void write_tensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                   const std::vector<std::pair<std::string, std::string>>& metadata) {
  std::vector<at::Tensor> kept;
  std::vector<StoredTensor> stored;
  for (const NamedTensor& each : tensors) {
    kept.push_back(each.tensor.detach().to(at::kCPU).contiguous());
    const at::Tensor& tensor = kept.back();
    stored.push_back({each.name,
                      element_type_of(tensor.scalar_type()),
                      tensor.sizes().vec(),
                      {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()}});
  }
  write_safetensors(path, stored, metadata);
}

}  // namespace hpcbench::train
