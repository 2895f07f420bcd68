#include "base/series_point.hpp"

#include <charconv>
#include <cmath>
#include <optional>

#include "base/json_text.hpp"
#include "base/json_writer.hpp"

namespace hpcbench {
namespace {

/// Returns the JSON string at the beginning of `text`, including its quotes; nullopt if it has no end.
std::optional<std::string_view> leading_string(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') return text.substr(0, i + 1);
    if (text[i] == '\\') ++i;
  }
  return std::nullopt;
}

}  // namespace

std::map<std::string, std::string> series_json(const std::vector<SeriesPoint>& series) {
  std::map<std::string, JsonWriter> lists;
  for (const SeriesPoint& point : series) {
    if (!std::isfinite(point.value)) continue;
    const auto [list, is_new] = lists.try_emplace(point.name);
    JsonWriter& json = list->second;
    if (is_new) json.begin_array();
    json.begin_array();
    point.word.empty() ? json.value(point.index) : json.value(point.word);
    json.value(point.value).end();
  }
  std::map<std::string, std::string> texts;
  for (auto& [name, list] : lists) texts[name] = list.end().take();
  return texts;
}

void read_points(const std::string& name, std::string_view json, std::vector<SeriesPoint>& into) {
  // Not by scan_array: a study may have millions of points.
  const char* at = json.data();
  const char* const end = at + json.size();
  long long words = 0;
  while (at != end) {
    SeriesPoint point{name, 0, 0};
    while (at != end && (*at == '[' || *at == ',')) ++at;
    if (at == end) return;
    if (*at == '"') {
      const auto quoted = leading_string({at, static_cast<std::size_t>(end - at)});
      const auto word = quoted ? json_string(*quoted) : std::nullopt;
      if (!word) return;
      point.word = *word;
      point.index = ++words;
      at += quoted->size();
    } else {
      const auto index = std::from_chars(at, end, point.index);
      if (index.ec != std::errc()) return;
      at = index.ptr;
    }
    if (at == end) return;
    const auto value = std::from_chars(at + 1, end, point.value);
    if (value.ec != std::errc()) return;
    into.push_back(std::move(point));
    at = value.ptr;
    while (at != end && *at == ']') ++at;
  }
}

}  // namespace hpcbench
