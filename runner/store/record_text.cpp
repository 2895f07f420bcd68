#include "store/record_text.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/json_text.hpp"
#include "base/json_writer.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

std::string key_text(std::string_view key) {
  return key.find('\\') == std::string_view::npos ? std::string(key) : json_unquote(fmt::format("\"{}\"", key));
}

}  // namespace

std::string numbers_json(const NameMap<double>& numbers) {
  JsonWriter json;
  json.begin_object();
  for (const auto& [name, number] : numbers) {
    if (std::isfinite(number)) json.member(name, number);
  }
  return json.end().take();
}

NameMap<double> read_numbers(std::string_view json) {
  NameMap<double> numbers;
  JsonMembers members;
  scan_object(json, members);
  numbers.reserve(members.size());
  for (const JsonMember& member : members) {
    if (const auto number = json_number(member.value)) numbers.emplace(key_text(member.key), *number);
  }
  return numbers;
}

NameMap<std::string> read_texts(std::string_view json) {
  NameMap<std::string> texts;
  JsonMembers members;
  scan_object(json, members);
  texts.reserve(members.size());
  for (const JsonMember& member : members) {
    if (auto text = json_string(member.value)) texts.emplace(key_text(member.key), *std::move(text));
  }
  return texts;
}

std::vector<std::string> read_list(std::string_view json) {
  std::vector<std::string> list;
  for (const std::string_view item : scan_array(json).value_or(std::vector<std::string_view>())) {
    if (auto text = json_string(item)) list.push_back(*std::move(text));
  }
  return list;
}

}  // namespace hpcbench
