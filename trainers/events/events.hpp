#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace hpcbench::train {

/// The value of one field of an event. A number that is not finite is left out of the event: absent, never a lie.
using EventValue = std::variant<double, std::int64_t, std::string, std::vector<std::string>,
                                std::vector<std::pair<std::string, std::string>>>;
using EventField = std::pair<const char*, EventValue>;

/// The event file of one rank (docs/events.md): one JSON object a line, each written by one call and so never interleaved.
/// May be used by several threads.
class Events {
 public:
  /// Without a folder nothing is written. DataError if the file cannot be opened.
  Events(const std::optional<std::filesystem::path>& folder, int rank);
  ~Events();
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  void write(std::string_view event, const std::vector<EventField>& fields);

 private:
  std::mutex mutex_;
  int rank_;
  int descriptor_ = -1;
  bool said_full_ = false;
};

}  // namespace hpcbench::train
