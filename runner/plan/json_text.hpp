#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/value.hpp"

// JSON written as text: it keeps numbers as people spelled them, and a hundred thousand rows cost no tree.

namespace hpcbench {

/// A value as a JSON scalar, a number as it was spelled (quoted where no double holds it, as readers would refuse the file).
std::string json_scalar(const Value& value);
/// `{"lr":5e-5,"data":"x"}` in the order of the bindings.
std::string json_object(const Bindings& bindings);
/// `["a","b"]`.
std::string json_list(const std::vector<std::string>& texts);
/// The text as a JSON string, or `null`.
std::string json_or_null(const std::optional<std::string>& text);
/// The shortest decimal that reads back as `number`, or `null` if it is absent or not finite.
std::string json_number(const std::optional<double>& number);

}  // namespace hpcbench
