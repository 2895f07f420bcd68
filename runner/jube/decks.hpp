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

/// Files that substitutesets make: their texts, and the decks to write beside the experiment file.
class JubeDecks {
 public:
  JubeDecks(const JubeParameters& parameters, const JubeRequest& request, Draft& draft)
      : parameters_(parameters), request_(request), draft_(draft) {}

  /// The text with placeholders where JUBE replaces something.
  std::string with_placeholders(const std::string& text, const JubeNode& set);
  /// The same with the values themselves; absent where one differs between points or is not known.
  std::optional<std::string> with_values(const std::string& text, const JubeNode& set);
  /// Adds the deck of a file that JUBE calls `out`, and gives its path.
  std::string add(const std::string& out, std::string text);
  /// Another text for a deck that is there, or `more` behind it.
  void rewrite(const std::string& path, const std::string& text, bool more);
  std::vector<std::pair<std::string, std::string>> take() { return std::move(decks_); }

 private:
  std::string free_path(const std::string& name) const;

  const JubeParameters& parameters_;
  const JubeRequest& request_;
  Draft& draft_;
  std::vector<std::pair<std::string, std::string>> decks_;  // path, text
};

/// Whether a file may not be called so in the folder of a run.
bool leaves_folder(const std::string& to);

}  // namespace hpcbench
