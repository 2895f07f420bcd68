#include "base/json_text.hpp"

#include <charconv>
#include <cmath>

#include "base/json_writer.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

constexpr int kDeepest = 64;

/// Walks over one JSON text. Each function moves past the element in its name and returns whether it was present.
class JsonScanner {
 public:
  explicit JsonScanner(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  void blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
  }
  bool done() {
    blanks();
    return at_ == end_;
  }
  bool take(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  bool at(char c) const { return at_ != end_ && *at_ == c; }
  const char* position() const { return at_; }

  bool string() {
    if (!take('"')) return false;
    while (at_ != end_) {
      const char c = *at_++;
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c == '\\' && !escape()) return false;
    }
    return false;
  }

  bool value(int depth) {
    if (at_ == end_) return false;
    switch (*at_) {
      case '"':
        return string();
      case '{':
        return depth < kDeepest && list('{', '}', depth, nullptr, nullptr);
      case '[':
        return depth < kDeepest && list('[', ']', depth, nullptr, nullptr);
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      case 'N':
        return word("NaN");
      case 'I':
        return word("Infinity");
      default:
        return number();
    }
  }

  /// Reads an object or an array; stores its content in `members` or `items` if they are given.
  bool list(char open, char close, int depth, JsonMembers* members, std::vector<std::string_view>* items) {
    if (!take(open)) return false;
    blanks();
    if (take(close)) return true;
    while (true) {
      blanks();
      std::string_view key;
      if (open == '{' && !member_key(key)) return false;
      const char* begin = at_;
      if (!value(depth + 1)) return false;
      const std::string_view text(begin, static_cast<std::size_t>(at_ - begin));
      if (members != nullptr) members->push_back({key, text});
      if (items != nullptr) items->push_back(text);
      blanks();
      if (take(close)) return true;
      if (!take(',')) return false;
    }
  }

 private:
  bool member_key(std::string_view& key) {
    const char* begin = at_;
    if (!string()) return false;
    key = std::string_view(begin + 1, static_cast<std::size_t>(at_ - begin) - 2);
    blanks();
    if (!take(':')) return false;
    blanks();
    return true;
  }

  bool escape() {
    if (at_ == end_) return false;
    const char c = *at_++;
    if (c != 'u') return std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos;
    for (int i = 0; i < 4; ++i, ++at_) {
      if (at_ == end_ || std::string_view("0123456789abcdefABCDEF").find(*at_) == std::string_view::npos) return false;
    }
    return true;
  }

  bool word(std::string_view expected) {
    if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(expected)) return false;
    at_ += expected.size();
    return true;
  }

  bool digits() {
    const char* begin = at_;
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9') ++at_;
    return at_ != begin;
  }

  bool number() {
    if (take('-') && at('I')) return word("Infinity");
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (!take('e') && !take('E')) return true;
    if (!take('+')) take('-');
    return digits();
  }

  const char* at_;
  const char* end_;
};

/// Unquotes text of unknown origin: lone surrogates and invalid UTF-8 become U+FFFD.
std::string safe_unquote(std::string_view literal) {
  std::string text = json_unquote(literal);
  return is_utf8(text) ? text : json_unquote(json_quote(text));
}

}  // namespace

bool is_json(std::string_view text) {
  JsonScanner scanner(text);
  scanner.blanks();
  return scanner.value(0) && scanner.done();
}

std::optional<std::size_t> json_error_offset(std::string_view text) {
  JsonScanner scanner(text);
  scanner.blanks();
  if (scanner.value(0) && scanner.done()) return std::nullopt;
  return static_cast<std::size_t>(scanner.position() - text.data());
}

bool scan_object(std::string_view text, JsonMembers& members) {
  members.clear();
  JsonScanner scanner(text);
  scanner.blanks();
  if (scanner.list('{', '}', 0, &members, nullptr) && scanner.done()) return true;
  members.clear();
  return false;
}

std::optional<std::vector<std::string_view>> scan_array(std::string_view text) {
  std::vector<std::string_view> items;
  JsonScanner scanner(text);
  scanner.blanks();
  if (!scanner.list('[', ']', 0, nullptr, &items) || !scanner.done()) return std::nullopt;
  return items;
}

std::string_view find_member(const JsonMembers& members, std::string_view key) {
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    if (member->key == key) return member->value;
  }
  return {};
}

std::optional<double> json_number(std::string_view value) {
  if (value.empty() || (value.front() != '-' && (value.front() < '0' || value.front() > '9'))) return std::nullopt;
  double number = 0;
  const auto read = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool whole = read.ec == std::errc() && read.ptr == value.data() + value.size();
  return whole && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::optional<long long> json_integer(std::string_view value) {
  long long integer = 0;
  const auto read = std::from_chars(value.data(), value.data() + value.size(), integer);
  if (read.ec == std::errc() && read.ptr == value.data() + value.size()) return integer;
  constexpr double kExact = 9007199254740992;  // 2^53: above it a double is no longer one integer
  const std::optional<double> number = json_number(value);
  if (!number || std::abs(*number) > kExact || std::trunc(*number) != *number) return std::nullopt;
  return static_cast<long long>(*number);
}

std::optional<std::string> json_string(std::string_view value) {
  if (value.size() < 2 || value.front() != '"' || value.back() != '"') return std::nullopt;
  return safe_unquote(value);
}

std::string json_member_name(const JsonMember& member) { return json_string('"' + std::string(member.key) + '"').value_or(""); }

std::map<std::string, std::string> read_texts_object(std::string_view object) {
  std::map<std::string, std::string> texts;
  JsonMembers members;
  scan_object(object, members);
  for (const JsonMember& member : members) {
    if (auto text = json_string(member.value)) texts[json_member_name(member)] = *std::move(text);
  }
  return texts;
}

std::optional<bool> json_flag(std::string_view value) {
  if (value != "true" && value != "false") return std::nullopt;
  return value == "true";
}

std::optional<std::string> json_scalar_text(std::string_view value) {
  if (value.empty() || value == "null" || value.front() == '{' || value.front() == '[') return std::nullopt;
  return value.front() == '"' ? json_string(value) : std::string(value);
}

Bindings json_bindings(std::string_view object) {
  Bindings bindings;
  JsonMembers members;
  scan_object(object, members);
  for (const JsonMember& member : members) {
    const std::optional<std::string> text = json_scalar_text(member.value);
    if (!text) continue;
    const bool quoted = member.value.front() == '"';
    bindings.emplace_back(safe_unquote('"' + std::string(member.key) + '"'),
                          quoted ? Value::from_text(*text) : Value::from_plain(*text));
  }
  return bindings;
}

std::string bindings_json(const Bindings& bindings) {
  JsonWriter json;
  json.begin_object();
  for (const auto& [name, value] : bindings) json.member(name, JsonText{value.is_text() ? value.canonical() : value.text()});
  return json.end().take();
}

std::string json_pointer_token(std::string_view name) {
  std::string token;
  for (const char c : name) token += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return token;
}

std::optional<std::vector<std::string>> json_pointer_tokens(std::string_view pointer) {
  std::vector<std::string> tokens;
  if (pointer.empty()) return tokens;
  if (pointer.front() != '/') return std::nullopt;
  for (const std::string& part : split(pointer.substr(1), '/')) {
    std::string token;
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (part[i] != '~') {
        token += part[i];
      } else if (++i < part.size() && (part[i] == '0' || part[i] == '1')) {
        token += part[i] == '0' ? '~' : '/';
      } else {
        return std::nullopt;
      }
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

std::optional<std::size_t> json_array_index(std::string_view token) {
  std::size_t index = 0;
  const auto read = std::from_chars(token.data(), token.data() + token.size(), index);
  const bool whole = read.ec == std::errc() && read.ptr == token.data() + token.size();
  return whole && (token == "0" || !token.starts_with('0')) ? std::optional(index) : std::nullopt;
}

std::optional<std::string> json_text_at(std::string_view value, std::string_view pointer) {
  const auto tokens = json_pointer_tokens(pointer);
  if (!tokens) return std::nullopt;
  for (const std::string& token : *tokens) {
    JsonMembers members;
    std::string_view next;
    if (scan_object(value, members)) {
      for (const JsonMember& member : members) {
        if (json_member_name(member) == token) next = member.value;
      }
    } else if (const auto items = scan_array(value)) {
      const std::optional<std::size_t> index = json_array_index(token);
      if (index && *index < items->size()) next = (*items)[*index];
    }
    if (next.empty()) return std::nullopt;
    value = next;
  }
  return json_scalar_text(value);
}

bool json_token_selects(std::string_view token, std::string_view element) {
  const std::size_t equals = token.find('=');
  if (!token.starts_with('[') || !token.ends_with(']') || equals == std::string_view::npos) return false;
  JsonMembers members;
  if (!scan_object(element, members)) return false;
  const std::string_view name = token.substr(1, equals - 1);
  for (const JsonMember& member : members) {
    if (json_member_name(member) != name) continue;
    return json_scalar_text(member.value).value_or("null") == token.substr(equals + 1, token.size() - equals - 2);
  }
  return false;
}

std::vector<std::string_view> json_values_at(std::string_view value, std::string_view pointer) {
  const auto tokens = json_pointer_tokens(pointer);
  if (!tokens) return {};
  std::vector<std::string_view> values = {trim(value)};
  for (const std::string& token : *tokens) {
    std::vector<std::string_view> next;
    for (const std::string_view each : values) {
      JsonMembers members;
      if (each.starts_with('{') && scan_object(each, members)) {
        for (const JsonMember& member : members) {
          if (token == "*" || json_member_name(member) == token) next.push_back(member.value);
        }
        continue;
      }
      const auto items = each.starts_with('[') ? scan_array(each) : std::nullopt;
      const std::optional<std::size_t> index = json_array_index(token);
      for (std::size_t i = 0; items && i < items->size(); ++i) {
        if (token == "*" || index == i || json_token_selects(token, (*items)[i])) next.push_back((*items)[i]);
      }
    }
    values = std::move(next);
  }
  return values;
}

}  // namespace hpcbench
