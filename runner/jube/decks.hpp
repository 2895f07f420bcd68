#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jube/draft.hpp"
#include "jube/jube_tree.hpp"
#include "jube/parameters.hpp"
#include "jube/translate.hpp"

namespace hpcbench {

/// Files that substitutesets create: their texts, and the decks to write beside the experiment file.
class JubeDecks {
 public:
  JubeDecks(const JubeParameters& parameters, const JubeRequest& request, Draft& draft)
      : parameters_(parameters), request_(request), draft_(draft) {}

  /// Returns the text with placeholders at JUBE's replacements.
  std::string with_placeholders(const std::string& text, const JubeNode& set);
  /// Returns the text with the values themselves; nullopt if a value differs between points or is unknown.
  std::optional<std::string> with_values(const std::string& text, const JubeNode& set);
  /// Adds the deck of a file that JUBE calls `out`, and returns its path.
  std::string add(const std::string& out, std::string text);
  /// Replaces the text of an existing deck, or appends to it if `more`.
  void rewrite(const std::string& path, const std::string& text, bool more);
  std::vector<std::pair<std::string, std::string>> take() { return std::move(decks_); }

 private:
  std::string free_path(const std::string& name) const;

  const JubeParameters& parameters_;
  const JubeRequest& request_;
  Draft& draft_;
  std::vector<std::pair<std::string, std::string>> decks_;  // path, text
};

/// Returns whether a file must not have this name in the folder of a run.
bool leaves_folder(const std::string& to);

}  // namespace hpcbench
