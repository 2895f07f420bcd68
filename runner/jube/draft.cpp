#include "jube/draft.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <set>

#include "base/text.hpp"
#include "spec/placeholders.hpp"

namespace hpcbench {

namespace {

// In reading order.
constexpr std::string_view kDraftKeys[] = {"description", "prepare", "files",   "environment", "command",
                                           "launch",      "workdir", "matrix",  "zip",         "parameters",
                                           "derive",      "repeats", "metrics", "report"};

constexpr std::string_view kBrace = "{{jube_brace}}";

std::string indented(const std::string& value, int by) {
  std::string text;
  const std::vector<std::string> lines = split(value, '\n');
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) text += lines[i].empty() ? "\n" : "\n" + std::string(static_cast<std::size_t>(by), ' ') + lines[i];
    if (i == 0) text += lines[i];
  }
  return text;
}

std::string line_of(const std::string& key, const std::string& value, int by) {
  const std::string blank = value.empty() || value.starts_with('\n') ? "" : " ";
  return fmt::format("{}{}:{}{}\n", std::string(static_cast<std::size_t>(by), ' '), key, blank, indented(value, by + 2));
}

std::string write_entries(const std::string& key, const Draft::Entries& entries) {
  std::string text = key + ":\n";
  for (const auto& [name, value] : entries) text += line_of(yaml_text(name), value, 2);
  return text;
}

std::string write_items(const std::string& key, const std::vector<std::string>& items) {
  std::string text = key + ":\n";
  for (const std::string& item : items) text += "  - " + indented(item, 4) + "\n";
  return text;
}

std::string write_key(const Draft& draft, const std::string& key) {
  if (const auto value = draft.values.find(key); value != draft.values.end()) return line_of(key, value->second, 0);
  if (const auto map = draft.maps.find(key); map != draft.maps.end() && !map->second.empty())
    return write_entries(key, map->second);
  if (const auto list = draft.lists.find(key); list != draft.lists.end() && !list->second.empty())
    return write_items(key, list->second);
  return "";
}

const std::string* find_entry(const Draft::Entries& entries, const std::string& name) {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.first == name; });
  return found == entries.end() ? nullptr : &found->second;
}

Draft::Entries entries_of(const Draft& draft, const std::string& key) {
  const auto found = draft.maps.find(key);
  return found == draft.maps.end() ? Draft::Entries() : found->second;
}

/// Returns the difference of maps, which merge key by key: a removed key is set to null by name.
std::string map_difference(const std::string& key, const Draft::Entries& base, const Draft::Entries& other) {
  Draft::Entries changed;
  for (const auto& [name, value] : other) {
    const std::string* const before = find_entry(base, name);
    if (before == nullptr || *before != value) changed.emplace_back(name, value);
  }
  for (const auto& [name, value] : base) {
    if (find_entry(other, name) == nullptr) changed.emplace_back(name, "~");
  }
  return changed.empty() ? "" : "\n" + write_entries(key, changed);
}

}  // namespace

void Draft::note(const SourceLocation& at, std::string_view key, std::string message) {
  const std::string place = describe_place(at);
  const bool known = std::any_of(notes.begin(), notes.end(),
                                 [&](const JubeNote& each) { return each.place == place && each.message == message; });
  if (!known) notes.push_back({place, std::move(message), std::string(key)});
}

void Draft::set(const std::string& key, const std::string& name, const std::string& value) {
  for (auto& [known, old] : maps[key]) {
    if (known == name) {
      old = value;
      return;
    }
  }
  maps[key].emplace_back(name, value);
}

std::string without_placeholders(const std::string& text, Draft& draft) {
  if (find_placeholders(text).empty()) return text;
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{' && i + 1 < text.size() && text[i + 1] == '{') {
      plain += kBrace;
      draft.set("parameters", "jube_brace", "\"{\"");
    } else {
      plain += text[i];
    }
  }
  return plain;
}

void append_placeholder(std::string& into, const std::string& placeholder, Draft& draft) {
  if (into.ends_with('{')) {
    into.pop_back();
    into += kBrace;
    draft.set("parameters", "jube_brace", "\"{\"");
  }
  into += placeholder;
}

std::string write_draft(const Draft& draft, const std::string& title, const Draft::Entries& profiles) {
  std::string text = title;
  for (const std::string_view key : kDraftKeys) {
    for (const JubeNote& note : draft.notes) {
      if (note.key == key) text += fmt::format("# {}: {}\n", note.place, printable(note.message));
    }
    text += write_key(draft, std::string(key));
  }
  if (!profiles.empty())
    text += "# JUBE's tags: --profile NAME, several in their order\n" + write_entries("profiles", profiles);
  return text;
}

std::string difference(const Draft& base, const Draft& other) {
  std::string text;
  for (const std::string_view word : kDraftKeys) {
    const std::string key(word);
    if (base.maps.contains(key) || other.maps.contains(key)) {
      text += map_difference(key, entries_of(base, key), entries_of(other, key));
      if (text.ends_with('\n')) text.pop_back();
      continue;
    }
    const std::string now = write_key(other, key);
    if (now == write_key(base, key)) continue;
    text += "\n" + (now.empty() ? key + ": ~\n" : now);
    text.pop_back();
  }
  return text;
}

std::string yaml_text(const std::string& text) {
  static const std::set<std::string> kWords = {"null", "Null", "NULL", "true", "false"};
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("_-./+").find(c) != std::string_view::npos;
  };
  const bool plain = !text.empty() && text != "-" && !text.starts_with("---") && !text.starts_with("...") &&
                     !kWords.contains(text) && std::all_of(text.begin(), text.end(), is_plain);
  return plain ? text : json_quote(text);
}

std::string yaml_script(const std::string& text) {
  const bool takes_block = text.find('\n') != std::string::npos && std::none_of(text.begin(), text.end(), [](char c) {
                             return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t';
                           });
  if (!takes_block || std::isspace(static_cast<unsigned char>(text.front())) != 0) return yaml_text(text);
  return "|-\n" + text;
}

std::string yaml_texts(const std::vector<std::string>& texts) {
  std::vector<std::string> words;
  for (const std::string& text : texts) words.push_back(yaml_text(text));
  return "[" + join(words, ", ") + "]";
}

}  // namespace hpcbench
