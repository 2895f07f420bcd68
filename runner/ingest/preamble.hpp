#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/metric.hpp"

namespace hpcbench {

/// What stands above the data of a file: the lines before the one that a metric's `header` says. Their text is dropped and
/// their line ends stay: to a reader they are blank lines, and it names the places of what follows as they are in the file.
class Preamble {
 public:
  using Take = std::function<void(std::string_view)>;
  explicit Preamble(const Metric& spec);
  ~Preamble();
  Preamble(const Preamble&) = delete;
  Preamble& operator=(const Preamble&) = delete;

  /// Why `header` cannot be used, or nothing.
  std::optional<std::string> error() const;
  void begin();
  /// Bytes cut anywhere. Of a line longer than 1 MiB the pattern sees the beginning.
  void feed(std::string_view piece, const Take& take);
  void end(const Take& take);
  /// After `end`: why nothing of the file was data; absent where the line was there, or no `header` is asked for.
  std::optional<std::string> missing() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The same of one file.
std::optional<std::string> missing_header(const Metric& spec, const std::string& file);

}  // namespace hpcbench
