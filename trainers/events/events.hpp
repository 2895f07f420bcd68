#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hpcbench::train {

/// One event with its fields in the order in which they are added. A number that is not finite is left out rather than
/// falsified.
class Event {
 public:
  explicit Event(std::string_view name);
  Event& add(std::string_view field, double value);
  Event& add(std::string_view field, std::int64_t value);
  Event& add(std::string_view field, int value) { return add(field, std::int64_t{value}); }
  Event& add(std::string_view field, const std::string& value);
  Event& add(std::string_view field, const std::vector<std::string>& values);
  Event& add(std::string_view field, const std::vector<std::pair<std::string, std::string>>& object);

 private:
  friend class Events;
  std::string name_;
  std::string fields_;  // JSON text, each field with a comma before it
};

/// The event file of one rank (docs/events.md): one JSON object per line, each written by one call and so never interleaved.
/// May be used by several threads.
class Events {
 public:
  /// Without a file nothing is written; an existing file is continued. DataError if it cannot be opened.
  Events(const std::optional<std::filesystem::path>& file, int rank);
  ~Events();
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  void write(const Event& event);

 private:
  std::mutex mutex_;
  int rank_;
  std::filesystem::path file_;
  int descriptor_ = -1;
  bool said_full_ = false;
};

}  // namespace hpcbench::train
