#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hpcbench {

/// A text that describes a run, found in its files.
struct FoundText {
  std::optional<std::string> text;  // without blanks around it; absent where the files do not have it
  std::string place;                // `params/gpus:1`, without the folder
  std::string problem;              // why there is no single text: `config.yaml has 16 and 32`
};

/// Searches `files` for what a `pointer` (into JSON, JSON lines or YAML) or a `pattern` (its first group, else all of its
/// match) names. Several texts must be equal. Total, in bounded memory.
FoundText find_text(const std::vector<std::string>& files, const std::string& kind, const std::string& selector);

}  // namespace hpcbench
