// libFuzzer entry: any bytes are a safetensors header followed by data, whose size is in the first two bytes. The header is
// read, with tensors that fill the data, or refused with a DataError whose text is short and holds no escape sequence;
// everything else is a finding.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "files/safetensors_header.hpp"

namespace {

using namespace hpcbench::train;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_header(const SafetensorsHeader& header, std::uint64_t data_bytes) {
  std::uint64_t filled = 0;
  for (const TensorEntry& entry : header.tensors) {
    require(entry.begin == filled && entry.end >= entry.begin && entry.end <= data_bytes);
    std::uint64_t bytes = element_bytes(entry.type);
    for (const std::int64_t size : entry.shape) {
      require(size >= 0);
      bytes *= static_cast<std::uint64_t>(size);
    }
    require(bytes == entry.end - entry.begin);
    filled = entry.end;
  }
  require(filled == data_bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::uint64_t data_bytes = data[0] + std::uint64_t{256} * data[1];
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  constexpr std::size_t kLongestError = 600;
  try {
    check_header(parse_safetensors_header(text, data_bytes, "file"), data_bytes);
  } catch (const DataError& error) {
    const std::string_view what = error.what();
    require(what.substr(0, 12) == "error: file " && what.size() < kLongestError && what.find('\x1b') == std::string_view::npos);
  }
  return 0;
}
