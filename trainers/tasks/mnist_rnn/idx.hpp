#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace hpcbench::train {

/// The file format of MNIST (http://yann.lecun.com/exdb/mnist): a big-endian header (magic number, count, for images rows and
/// columns, 32 bits each), then one byte per pixel or label. Plain or gzipped.
struct IdxImages {
  std::int64_t count = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<std::uint8_t> pixels;  // count x rows x columns
};

/// DataError names the file and the fault: unreadable, another magic number, too short, too long.
IdxImages read_idx_images(const std::filesystem::path& path);
std::vector<std::uint8_t> read_idx_labels(const std::filesystem::path& path);

}  // namespace hpcbench::train
