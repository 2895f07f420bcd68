#include "tasks/bert_squad/bert_masks.hpp"

#include <ATen/Dispatch.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>

#include <cstring>

namespace hpcbench::train {

namespace {

constexpr std::int64_t kLow32 = 0xffffffff;

/// x ^= x >> shift, for numbers below 2^32.
void fold_bits(at::Tensor& bits, std::int64_t shift) { bits.bitwise_xor_(bits.__rshift__(shift)); }

/// The low 32 bits of bits * factor: int64 wraps, and keeps them.
void multiply_low32(at::Tensor& bits, std::int64_t factor) { bits.mul_(factor).bitwise_and_(kLow32); }

}  // namespace

at::Tensor bert_mask_by_operators(const kernels::DropoutSite& site, const std::vector<std::uint64_t>& keys, std::int64_t width,
                                  at::ScalarType type, at::Device place) {
  at::Tensor of_rows = at::empty({std::ssize(keys), 1}, at::kLong);
  std::memcpy(of_rows.mutable_data_ptr(), keys.data(), keys.size() * sizeof(std::uint64_t));
  of_rows = of_rows.to(place);
  const at::Tensor elements = at::arange(width, at::TensorOptions(place).dtype(at::kLong));
  // element_bits(), step by step.
  at::Tensor bits = (elements + of_rows.bitwise_and(kLow32)).bitwise_and_(kLow32);
  fold_bits(bits, 16);
  multiply_low32(bits, 0x21f0aaad);
  bits.bitwise_xor_(of_rows.__rshift__(32).bitwise_and_(kLow32));
  fold_bits(bits, 15);
  multiply_low32(bits, 0xd35a2d97);
  fold_bits(bits, 15);
  return bits.ge(static_cast<std::int64_t>(site.threshold)).to(type).mul_(site.kept);
}

at::Tensor bert_mask(const kernels::DropoutSite& site, const std::vector<std::uint64_t>& keys, std::int64_t width,
                     at::ScalarType type, at::Device place) {
  if (!place.is_cpu()) return bert_mask_by_operators(site, keys, width, type, place);
  const at::Tensor mask = at::empty({std::ssize(keys), width}, type);
  AT_DISPATCH_FLOATING_TYPES(type, "bert_mask", [&] {
    auto* row = mask.data_ptr<scalar_t>();
    for (const std::uint64_t key : keys) {
      kernels::dropout_mask_row(site, key, width, row);
      row += width;
    }
  });
  return mask;
}

void add_attention_keys(const kernels::DropoutSite& site, const BertRows& rows, std::int64_t row, std::int64_t heads,
                        std::vector<std::uint64_t>& keys) {
  for (std::int64_t head = 0; head < heads; ++head) {
    for (std::int64_t query = 0; query < rows.size(row); ++query) {
      const auto token = static_cast<std::size_t>(rows.begin[static_cast<std::size_t>(row)] + query);
      keys.push_back(kernels::head_key(site, rows.token_keys[token], head));
    }
  }
}

at::Tensor bert_attention_mask(const kernels::DropoutSite& site, const BertRows& rows, std::int64_t row,
                               const at::Tensor& probabilities) {
  std::vector<std::uint64_t> keys;
  add_attention_keys(site, rows, row, probabilities.size(0), keys);
  return bert_mask(site, keys, probabilities.size(-1), probabilities.scalar_type(), probabilities.device())
      .view(probabilities.sizes());
}

}  // namespace hpcbench::train
