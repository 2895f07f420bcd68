#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace hpcbench::train {

constexpr std::int64_t kDigitSide = 28;
constexpr std::int64_t kDigitPixels = kDigitSide * kDigitSide;
constexpr std::int64_t kDigitClasses = 10;

struct LabelledDigits {
  std::vector<std::uint8_t> pixels;  // size() x 28 x 28
  std::vector<std::uint8_t> labels;  // 0 to 9
  std::int64_t size() const { return static_cast<std::int64_t>(labels.size()); }
};

struct Digits {
  LabelledDigits train;
  LabelledDigits validation;
  std::optional<std::string> note;  // a note for the user about the split
};

/// MNIST from a folder with the files' published names, gzipped (`.gz`) or not. With the 60,000 training images, the first
/// `train_share` (default all) of them train and the 10,000 test images validate; with the test images alone, the first
/// `train_share` (default 0.8) of them train and the rest validate. DataError names the file.
Digits load_digits(const std::filesystem::path& folder, std::optional<double> train_share);

}  // namespace hpcbench::train
