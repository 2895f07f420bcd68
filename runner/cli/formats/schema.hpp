#pragma once

#include <string>

#include "spec/keys/keys.hpp"

namespace hpcbench {

/// The JSON Schema (draft 07) of an experiment file and of a site file, made from the keys that `check` goes by. It accepts
/// whatever `check` accepts; what depends on other keys, or on files, only `check` knows.
std::string experiment_schema();
std::string site_schema();

}  // namespace hpcbench
