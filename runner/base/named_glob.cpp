#include "base/named_glob.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include "base/glob.hpp"

namespace hpcbench {

namespace {

bool is_name_character(char c, bool is_first) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (!is_first && c >= '0' && c <= '9');
}

/// The name of `{name}` at the beginning of a text; empty where there is none.
std::string_view name_at(std::string_view text) {
  std::size_t end = 1;
  while (end < text.size() && is_name_character(text[end], end == 1)) ++end;
  return text.starts_with('{') && end > 1 && end < text.size() && text[end] == '}' ? text.substr(1, end - 1)
                                                                                   : std::string_view();
}

/// The length of `[...]` at the beginning of a text; 0 where it is not closed.
std::size_t length_of_set(std::string_view text) {
  std::size_t end = 1;
  if (end < text.size() && (text[end] == '!' || text[end] == '^')) ++end;
  if (end < text.size() && text[end] == ']') ++end;
  end = text.find(']', end);
  return end == std::string_view::npos ? 0 : end + 1;
}

}  // namespace

NamedGlob::NamedGlob(const std::string& folder, const std::string& glob) {
  using Kind = Token::Kind;
  const auto add = [&](Kind kind, std::string_view text) {
    if (kind == Kind::literal && !tokens_.empty() && tokens_.back().kind == Kind::literal) {
      tokens_.back().text += text;
    } else if (kind != Kind::any || tokens_.empty() || tokens_.back().kind != Kind::any) {
      tokens_.push_back({kind, std::string(text)});
    }
  };
  if (!folder.empty() && !glob.starts_with('/')) add(Kind::literal, folder + '/');
  const std::string_view all = glob;
  for (std::size_t i = 0; i < all.size();) {
    const std::string_view rest = all.substr(i);
    const std::string_view name = name_at(rest);
    const std::size_t set = rest.front() == '[' ? length_of_set(rest) : 0;
    if (!name.empty()) {
      add(Kind::name, name);
      if (std::find(names_.begin(), names_.end(), name) == names_.end()) names_.emplace_back(name);
      i += name.size() + 2;
    } else if (rest.front() == '*' || rest.front() == '?') {
      add(rest.front() == '*' ? Kind::any : Kind::one, rest.substr(0, 1));
      ++i;
    } else if (set > 0) {
      add(Kind::set, rest.substr(0, set));
      i += set;
    } else {
      const std::size_t escaped = rest.front() == '\\' && rest.size() > 1 ? 1 : 0;
      add(Kind::literal, rest.substr(escaped, 1));
      i += escaped + 1;
    }
  }
}

std::string NamedGlob::glob() const {
  std::string out;
  for (const Token& token : tokens_) {
    out += token.kind == Token::Kind::literal ? glob_escaped(token.text) : token.kind == Token::Kind::name ? "*" : token.text;
  }
  return out;
}

/// Tries all lengths of all wildcards, within a budget of steps.
class NamedGlob::Matcher {
 public:
  Matcher(const NamedGlob& glob, std::string_view path) : glob_(glob), path_(path) {
    for (std::size_t i = 0; i < glob.tokens_.size(); ++i) {
      if (glob.tokens_[i].kind == Token::Kind::name) last_name_ = i;
    }
  }

  std::vector<Reading> run() {
    match(0, 0);
    return std::move(readings_);
  }

 private:
  static constexpr int kMostSteps = 100'000;
  static constexpr std::size_t kMostReadings = 64;

  void match(std::size_t token, std::size_t at) {
    if (++steps_ > kMostSteps || readings_.size() >= kMostReadings) return;
    if (token == glob_.tokens_.size()) {
      if (at == path_.size()) keep();
      return;
    }
    const auto& [kind, text] = glob_.tokens_[token];
    switch (kind) {
      case Token::Kind::literal:
        if (path_.substr(at).starts_with(text)) match(token + 1, at + text.size());
        return;
      case Token::Kind::one:
      case Token::Kind::set:
        if (at < path_.size() && path_[at] != '/' && ::fnmatch(text.c_str(), std::string(1, path_[at]).c_str(), 0) == 0)
          take(token, at, at + 1);
        return;
      case Token::Kind::any:
      case Token::Kind::name:
        for (std::size_t end = at + (kind == Token::Kind::name ? 1 : 0);
             end <= path_.size() && (end == at || path_[end - 1] != '/'); ++end)
          take(token, at, end);
        return;
    }
  }

  void take(std::size_t token, std::size_t begin, std::size_t end) {
    const std::string part(path_.substr(begin, end - begin));
    if (glob_.tokens_[token].kind != Token::Kind::name) {
      if (last_name_ && token < *last_name_) others_.push_back(part);
      match(token + 1, end);
      if (last_name_ && token < *last_name_) others_.pop_back();
      return;
    }
    const std::string& name = glob_.tokens_[token].text;
    const auto same = std::find_if(values_.begin(), values_.end(), [&](const auto& value) { return value.first == name; });
    if (same != values_.end() && same->second != part) return;
    const bool is_new = same == values_.end();
    if (is_new) values_.emplace_back(name, part);
    if (token == last_name_) end_of_names_ = end;
    match(token + 1, end);
    if (is_new) values_.pop_back();
  }

  void keep() {
    const auto is_same = [&](const Reading& other) { return other.values == values_ && other.others == others_; };
    if (std::any_of(readings_.begin(), readings_.end(), is_same)) return;
    std::size_t end = last_name_ ? path_.find('/', end_of_names_) : std::string_view::npos;
    if (end == std::string_view::npos) end = path_.rfind('/');
    readings_.push_back({values_, others_, end == std::string_view::npos ? "." : std::string(path_.substr(0, end))});
  }

  const NamedGlob& glob_;
  std::string_view path_;
  std::optional<std::size_t> last_name_;
  int steps_ = 0;
  std::size_t end_of_names_ = 0;
  std::vector<std::pair<std::string, std::string>> values_;
  std::vector<std::string> others_;
  std::vector<Reading> readings_;
};

std::vector<NamedGlob::Reading> NamedGlob::read(std::string_view path) const { return Matcher(*this, path).run(); }

}  // namespace hpcbench
