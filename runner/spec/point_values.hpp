#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/experiment.hpp"

// What `resources` and `files` may say: asked when the file is read, and where placeholders stand in them for each point.

namespace hpcbench {

/// A number of bytes as sbatch takes it: `32G`.
bool is_memory(std::string_view text);

/// Sets a key of `resources` (time, cpus_per_task, mem, gres, constraint, exclusive) from a text whose placeholders are filled
/// in. What it must be where it is not; empty if it was set.
std::string set_resource(Resources& resources, const std::string& key, const std::string& value);

/// Whether one of the texts is of this key.
bool has_text_of(const std::vector<FilledText>& texts, std::string_view key);

/// Why a file of this name cannot be written into the folder of an attempt; empty if it can. `to` has no placeholders.
std::string why_no_deck(const std::string& to);

/// Whether hpcbench keeps a file of this name in the folder of an attempt.
bool is_own_file(const std::string& name);

/// The first name in `decks` that stands there twice; empty if none does.
std::string repeated_deck(const std::vector<InputDeck>& decks);

}  // namespace hpcbench
