#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/name_map.hpp"

namespace hpcbench {

// Returns the lists of a record in the form of the index's columns: JSON that SQLite's json_each reads, numbers in the shortest
// form that reads back as the same double. The readers are total: text that a user has edited gives fewer entries.

std::string numbers_json(const NameMap<double>& numbers);
NameMap<double> read_numbers(std::string_view json);

NameMap<std::string> read_texts(std::string_view json);

std::vector<std::string> read_list(std::string_view json);

}  // namespace hpcbench
