#include "base/json_writer.hpp"

#include "base/text.hpp"

namespace hpcbench {

JsonWriter& JsonWriter::open(char opening, char closing, JsonLayout layout) {
  begin_element();
  text_ += opening;
  levels_.push_back({closing, layout});
  return *this;
}

JsonWriter& JsonWriter::end() {
  const Level level = levels_.back();
  levels_.pop_back();
  if (level.layout == JsonLayout::lines && !level.is_empty && !break_) break_ = static_cast<int>(levels_.size()) * indent_;
  if (break_) start_line(*break_);
  text_ += level.closing;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  begin_element();
  append_json_quote(text_, name);
  text_ += levels_.back().layout == JsonLayout::compact ? ":" : ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::break_line(int blanks) {
  break_ = blanks;
  return *this;
}

void JsonWriter::begin_element() {
  if (std::exchange(after_key_, false) || levels_.empty()) return;
  Level& level = levels_.back();
  if (!std::exchange(level.is_empty, false)) text_ += ',';
  if (level.layout == JsonLayout::lines && !break_) break_ = static_cast<int>(levels_.size()) * indent_;
  if (break_) start_line(*break_);
}

void JsonWriter::start_line(int blanks) {
  text_ += '\n';
  text_.append(static_cast<std::size_t>(blanks), ' ');
  break_.reset();
}

JsonWriter& JsonWriter::plain(std::string_view text) {
  begin_element();
  text_ += text;
  return *this;
}

JsonWriter& JsonWriter::quoted(std::string_view text) {
  begin_element();
  append_json_quote(text_, text);
  return *this;
}

}  // namespace hpcbench
