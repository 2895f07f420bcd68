#include "jube/decks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>

#include "jube/references.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kLongestDeck = 1'000'000;

std::string replaced(const std::string& text, const std::string& source, const std::string& value, const JubeNode& sub,
                     Draft& draft) {
  std::string out;
  std::size_t at = 0;
  for (std::size_t next = text.find(source); next != std::string::npos; next = text.find(source, at)) {
    out += text.substr(at, next - at);
    if (value.starts_with("{{")) {
      append_placeholder(out, value, draft);
    } else {
      out += value;
    }
    at = next + source.size();
    if (out.size() > kLongestDeck) refuse_jube(sub.place, "with its values filled in the file has more than 1 MB");
  }
  return out + text.substr(at);
}

std::string replacement_of(const JubeNode& sub) {
  const std::string dest = sub.attribute("dest");
  return dest.empty() ? sub.text : dest;
}

bool has_name(const std::string& text) {
  const std::vector<JubePiece> pieces = jube_pieces(text);
  return std::any_of(pieces.begin(), pieces.end(), [](const JubePiece& piece) { return piece.is_name; });
}

}  // namespace

std::string JubeDecks::with_placeholders(const std::string& text, const JubeNode& set) {
  const std::vector<const JubeNode*> subs = set.all("sub");
  const bool own_braces = std::any_of(subs.begin(), subs.end(), [](const JubeNode* sub) {
    return sub->attribute("source").find("{{") != std::string::npos;  // whose matches are replaced
  });
  std::string filled = own_braces ? text : without_placeholders(text, draft_);
  for (const JubeNode* sub : subs) {
    if (sub->attribute("mode") == "regex") {
      draft_.note(sub->place, "files",
                  fmt::format("FILL IN the deck: the regular expression `{}` is not replaced: put `{{{{name}}}}` into the deck "
                              "where it matches",
                              sub->attribute("source")));
      continue;
    }
    const std::optional<std::string> source = parameters_.constant(sub->attribute("source"));
    if (!source || source->empty()) continue;
    filled = replaced(filled, *source, parameters_.fill(replacement_of(*sub), sub->place, "files", draft_), *sub, draft_);
  }
  return filled;
}

std::optional<std::string> JubeDecks::with_values(const std::string& text, const JubeNode& set) {
  std::string filled = text;
  for (const JubeNode* sub : set.all("sub")) {
    if (sub->attribute("mode") == "regex") return std::nullopt;
    const std::optional<std::string> source = parameters_.constant(sub->attribute("source"));
    if (!source) return std::nullopt;
    if (source->empty() || filled.find(*source) == std::string::npos) continue;
    const std::optional<std::string> value = parameters_.constant(replacement_of(*sub));
    if (!value || has_name(*value)) return std::nullopt;
    filled = replaced(filled, *source, *value, *sub, draft_);
  }
  return filled;
}

std::string JubeDecks::add(const std::string& out, std::string text) {
  const std::string path = free_path(std::filesystem::path(out).filename().string());
  decks_.emplace_back(path, std::move(text));
  return path;
}

void JubeDecks::rewrite(const std::string& path, const std::string& text, bool more) {
  for (auto& [known, old] : decks_) {
    if (known == path) old = more ? old + text : text;
  }
}

/// Returns a path beside the experiment file; files of the same name in two folders are two decks.
std::string JubeDecks::free_path(const std::string& name) const {
  const std::filesystem::path folder = std::filesystem::path(request_.output).parent_path();
  const auto is_taken = [&](const std::string& path) {
    return std::any_of(decks_.begin(), decks_.end(), [&](const auto& deck) { return deck.first == path; });
  };
  std::string path = (folder / (request_.name + "_" + name)).string();
  for (int number = 2; is_taken(path); ++number) path = (folder / fmt::format("{}{}_{}", request_.name, number, name)).string();
  return path;
}

bool leaves_folder(const std::string& to) {
  return to.empty() || to.starts_with('/') || to.find("..") != std::string::npos || to.find('*') != std::string::npos;
}

}  // namespace hpcbench
