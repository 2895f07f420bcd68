#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/settings.hpp"

namespace hpcbench::train {

/// Returns everything that must be equal on all ranks: deciding_settings() and the number of training samples, as a JSON
/// object.
std::string shared_settings(const Settings& settings, std::int64_t train_samples);

/// `ranks`: shared_settings() in the order of the ranks. InputError, the same on all ranks, names each setting that differs, by
/// rank 0 and the first rank with another value: their sums would mix two trainings, or wait forever.
void refuse_different_settings(const std::vector<std::string>& ranks);

}  // namespace hpcbench::train
