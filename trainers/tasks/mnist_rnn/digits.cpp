#include "tasks/mnist_rnn/digits.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/text.hpp"
#include "tasks/mnist_rnn/idx.hpp"

namespace hpcbench::train {

namespace {

std::optional<std::filesystem::path> find_idx(const std::filesystem::path& folder, const std::string& name) {
  for (const std::string& candidate : {name, name + ".gz"}) {
    std::error_code ignored;
    if (std::filesystem::exists(folder / candidate, ignored)) return folder / candidate;
  }
  return std::nullopt;
}

std::filesystem::path need_idx(const std::filesystem::path& folder, const std::string& name) {
  if (const auto path = find_idx(folder, name)) return *path;
  throw DataError(concat("error: cannot read ", (folder / name).string(), ": there is no such file, nor ", name,
                         ".gz (`--data` names the folder of MNIST's files)"));
}

LabelledDigits read_pair(const std::filesystem::path& folder, const std::string& prefix) {
  const std::filesystem::path images_path = need_idx(folder, prefix + "-images-idx3-ubyte");
  const std::filesystem::path labels_path = need_idx(folder, prefix + "-labels-idx1-ubyte");
  IdxImages images = read_idx_images(images_path);
  if (images.rows != kDigitSide || images.columns != kDigitSide) {
    throw DataError(concat("error: ", images_path.string(), " holds images of ", images.rows, " x ", images.columns,
                           " pixels, not 28 x 28"));
  }
  LabelledDigits digits{std::move(images.pixels), read_idx_labels(labels_path)};
  if (digits.size() != images.count)
    throw DataError(concat("error: ", labels_path.string(), " holds ", digits.size(), " labels for ", images.count, " images"));
  const auto wrong = std::find_if(digits.labels.begin(), digits.labels.end(), [](int label) { return label >= kDigitClasses; });
  if (wrong != digits.labels.end())
    throw DataError(concat("error: ", labels_path.string(), " holds the label ", int{*wrong}, ", which is no digit"));
  return digits;
}

LabelledDigits slice(const LabelledDigits& all, std::int64_t first, std::int64_t last) {
  return {{all.pixels.begin() + first * kDigitPixels, all.pixels.begin() + last * kDigitPixels},
          {all.labels.begin() + first, all.labels.begin() + last}};
}

std::int64_t share_of(std::int64_t count, double share) {
  return std::clamp(std::llround(static_cast<double>(count) * share), 1LL, static_cast<long long>(count));
}

}  // namespace

Digits load_digits(const std::filesystem::path& folder, std::optional<double> train_share) {
  Digits digits;
  if (find_idx(folder, "train-images-idx3-ubyte")) {
    digits.train = read_pair(folder, "train");
    digits.validation = read_pair(folder, "t10k");
    const std::int64_t kept = share_of(digits.train.size(), train_share.value_or(1.0));
    if (kept < digits.train.size()) digits.train = slice(digits.train, 0, kept);
    return digits;
  }
  constexpr double kDefaultShare = 0.8;
  const LabelledDigits all = read_pair(folder, "t10k");
  const std::int64_t kept = share_of(all.size(), train_share.value_or(kDefaultShare));
  digits.train = slice(all, 0, kept);
  digits.validation = slice(all, kept, all.size());
  digits.note =
      concat("the training images are not in ", folder.string(), ": ", kept, " of the ", all.size(), " test images train, ",
             all.size() - kept, " validate (train_share ", train_share.value_or(kDefaultShare), ")");
  return digits;
}

}  // namespace hpcbench::train
