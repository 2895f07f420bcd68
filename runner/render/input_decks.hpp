#pragma once

#include <string>
#include <vector>

#include "base/value.hpp"

namespace hpcbench {

/// A deck as an attempt has it.
struct FilledDeck {
  std::string from, to;
  std::string sha256;  // of the file as it stands, before placeholders were filled in
  std::string content;
};

/// Reads the file `path` and fills in its placeholders. InputError, with the place in the file, for a name that `bindings`
/// lacks, and for {{run_dir}}: a run by hand has another folder. InputError for a file that is not there, no file, or above 64
/// MB.
std::string filled_deck(const std::string& path, const Bindings& bindings, std::string& sha256);

}  // namespace hpcbench
