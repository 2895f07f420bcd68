#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace hpcbench::train {

/// Runs `hpcbench-train features ARGUMENTS...`: prints one JSON object per feature to `output`, in the file's order, and
/// returns 0: example_id, input_ids, token_type_ids, offsets ([0, 0] for special tokens), start_position, end_position. Notes
/// go to stderr. InputError and DataError as for SquadFeatures::open; DataError if `output` cannot be written.
int features_command(const std::vector<std::string>& arguments, std::FILE* output = stdout);

}  // namespace hpcbench::train
