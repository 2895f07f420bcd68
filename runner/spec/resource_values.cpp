#include "spec/resource_values.hpp"

#include "base/text.hpp"
#include "base/value.hpp"

namespace hpcbench {

bool is_memory(std::string_view text) {
  if (!text.empty() && std::string_view("KMGT").find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return !text.empty() && text.size() <= 12 && text.find_first_not_of("0123456789") == std::string_view::npos &&
         text.find_first_not_of('0') != std::string_view::npos;
}

std::string set_resource(Resources& resources, const std::string& key, const std::string& value) {
  if (key == "time") {
    const auto seconds = parse_duration(value);
    if (!seconds || !(*seconds > 0) || *seconds >= 1e9) return "a time above 0: \"02:00:00\", 2h, 90m, 45s, or minutes";
    resources.time_s = seconds;
  } else if (key == "cpus_per_task") {
    const auto cores = Value::from_plain(value).integer();
    if (!cores || *cores < 1 || *cores > kMostCpus) return "an integer from 1 to 10000";
    resources.cpus_per_task = static_cast<int>(*cores);
  } else if (key == "exclusive") {
    if (value != "true" && value != "false") return "true or false";
    resources.exclusive = value == "true";
  } else if (key == "mem") {
    if (!is_memory(value)) return "a number with K, M, G or T: 32G";
    resources.mem = value;
  } else {
    if (trim(value).empty()) return "a text that is not empty";
    (key == "gres" ? resources.gres : resources.constraint) = value;
  }
  return "";
}

}  // namespace hpcbench
