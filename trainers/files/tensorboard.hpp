#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace hpcbench::train {

/// A TensorBoard event file with scalars: records with their masked CRC-32C, in the format of TensorFlow's record writer. Each
/// scalar is written immediately.
class TensorBoardFile {
 public:
  /// Creates FOLDER/events.out.tfevents.TIME.HOST.PID. DataError if it cannot be created.
  explicit TensorBoardFile(const std::filesystem::path& folder);
  ~TensorBoardFile();
  TensorBoardFile(const TensorBoardFile&) = delete;
  TensorBoardFile& operator=(const TensorBoardFile&) = delete;

  void scalar(const std::string& tag, std::int64_t step, double value);

 private:
  struct Writer;
  std::unique_ptr<Writer> writer_;
};

}  // namespace hpcbench::train
