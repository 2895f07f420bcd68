#include "events/events.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/text.hpp"

namespace hpcbench::train {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const EventValue& value) {
  if (const auto* pairs = std::get_if<std::vector<std::pair<std::string, std::string>>>(&value)) {
    Json object = Json::object();
    for (const auto& [name, text] : *pairs) object[name] = text;
    return object;
  }
  return std::visit(
      [](const auto& plain) -> Json {
        if constexpr (requires { Json(plain); }) return plain;
        return nullptr;
      },
      value);
}

bool is_absent(const EventValue& value) {
  const double* number = std::get_if<double>(&value);
  return number && !std::isfinite(*number);
}

}  // namespace

Events::Events(const std::optional<std::filesystem::path>& folder, int rank) : rank_(rank) {
  if (!folder) return;
  const std::filesystem::path path = *folder / (rank == 0 ? "events.jsonl" : concat("events.", rank, ".jsonl"));
  descriptor_ = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor_ < 0) throw DataError(concat("error: cannot write ", path.string(), ": ", std::strerror(errno)));
}

Events::~Events() {
  if (descriptor_ >= 0) close(descriptor_);
}

void Events::write(std::string_view event, const std::vector<EventField>& fields) {
  if (descriptor_ < 0) return;
  Json line = {{"v", 1}, {"t", std::round(unix_s() * 1000) / 1000}, {"rank", rank_}, {"event", event}};
  for (const auto& [name, value] : fields) {
    if (!is_absent(value)) line[name] = to_json(value);
  }
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  const std::lock_guard lock(mutex_);
  if (::write(descriptor_, text.data(), text.size()) == static_cast<ssize_t>(text.size()) || said_full_) return;
  said_full_ = true;
  std::fprintf(stderr, "warning: an event could not be written: %s\n", std::strerror(errno));
}

}  // namespace hpcbench::train
