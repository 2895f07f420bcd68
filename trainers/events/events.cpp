#include "events/events.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/text.hpp"

namespace hpcbench::train {

namespace {

using Json = nlohmann::ordered_json;

/// Returns JSON text; bytes that are not UTF-8 become U+FFFD.
std::string json_text(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string json_field(std::string_view field, const Json& value) { return "," + json_text(field) + ":" + json_text(value); }

}  // namespace

Event::Event(std::string_view name) : name_(name) {}

Event& Event::add(std::string_view field, double value) {
  if (std::isfinite(value)) fields_ += json_field(field, value);
  return *this;
}

Event& Event::add(std::string_view field, std::int64_t value) {
  fields_ += json_field(field, value);
  return *this;
}

Event& Event::add(std::string_view field, const std::string& value) {
  fields_ += json_field(field, value);
  return *this;
}

Event& Event::add(std::string_view field, const std::vector<std::string>& values) {
  fields_ += json_field(field, Json(values));
  return *this;
}

Event& Event::add(std::string_view field, const std::vector<std::pair<std::string, std::string>>& object) {
  Json json = Json::object();
  for (const auto& [name, text] : object) json[name] = text;
  fields_ += json_field(field, json);
  return *this;
}

Events::Events(const std::optional<std::filesystem::path>& file, int rank) : rank_(rank) {
  if (!file) return;
  file_ = *file;
  descriptor_ = open(file->c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor_ < 0) throw DataError(concat("error: cannot write ", file->string(), ": ", std::strerror(errno)));
}

Events::~Events() {
  if (descriptor_ >= 0) close(descriptor_);
}

void Events::write(const Event& event) {
  if (descriptor_ < 0) return;
  const double stamp_s = std::round(unix_s() * 1000) / 1000;
  const std::string text = "{\"v\":1" + json_field("t", stamp_s) + json_field("rank", rank_) +
                           json_field("event", event.name_) + event.fields_ + "}\n";
  const std::lock_guard lock(mutex_);
  if (::write(descriptor_, text.data(), text.size()) == static_cast<ssize_t>(text.size()) || said_full_) return;
  said_full_ = true;
  log_warning(concat("warning: an event could not be written to ", file_.string(), ": ", std::strerror(errno)));
}

}  // namespace hpcbench::train
