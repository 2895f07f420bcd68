#pragma once

#include <cstdint>
#include <string_view>

namespace hpcbench {

/// Returns the CRC-32C (Castagnoli: polynomial 0x1EDC6F41, reflected, all ones in and out). Source: RFC 3720, appendix B.4.
std::uint32_t crc32c(std::string_view bytes);

/// Returns the CRC of TensorFlow's record files: rotated right by 15 bits, plus 0xa282ead8 (tensorflow/core/lib/hash/crc32c.h).
std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace hpcbench
