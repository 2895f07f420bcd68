#include "render/packing.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// The number that a text begins with, and what follows it.
std::optional<std::pair<long long, std::string>> leading_number(std::string_view text) {
  long long number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number <= 0 || number > 1'000'000'000'000) return std::nullopt;
  return std::pair{number, std::string(end, text.data() + text.size())};
}

[[noreturn]] void refuse(const Experiment& experiment, const std::string& what, const std::string& advice) {
  throw InputError(fmt::format("{}: error: {}\n  = {}", experiment.place_of_key("allocation.side_by_side"), what, advice));
}

}  // namespace

int lanes_of(const Experiment& experiment, std::size_t runs) {
  if (!experiment.packs_runs()) return 1;
  return static_cast<int>(std::clamp<std::size_t>(runs, 1, static_cast<std::size_t>(experiment.side_by_side)));
}

std::optional<std::string> times_memory(const std::string& memory, int lanes) {
  const auto parts = leading_number(memory);
  if (!parts) return std::nullopt;
  return std::to_string(parts->first * lanes) + parts->second;
}

std::optional<std::string> times_gres(const std::string& gres, int lanes) {
  std::vector<std::string> items;
  for (const std::string& item : split(gres, ',')) {
    const std::size_t colon = item.rfind(':');
    const std::string last = colon == std::string::npos ? "" : item.substr(colon + 1);
    if (last.empty() || !is_digit(last.front())) {
      items.push_back(fmt::format("{}:{}", item, lanes));
      continue;
    }
    const auto count = leading_number(last);
    if (!count || !count->second.empty()) return std::nullopt;
    items.push_back(fmt::format("{}:{}", item.substr(0, colon), count->first * lanes));
  }
  return join(items, ",");
}

double packed_time_s(double sum_s, double longest_s, int lanes) { return sum_s / lanes + longest_s * (lanes - 1) / lanes; }

void check_packing(const Experiment& experiment, const Plan& plan) {
  if (!experiment.packs_runs()) return;
  for (const Configuration& configuration : plan.configurations) {
    const Resources& resources = configuration.work->resources;
    const std::string point = plan.describe_point(configuration);
    if (configuration.nodes > 1) {
      refuse(experiment, fmt::format("runs side by side share one node, and {} has {} nodes", point, configuration.nodes),
             "remove `side_by_side`, or measure one node and several nodes in files of their own");
    }
    if (!resources.mem || !times_memory(*resources.mem, 1)) {
      refuse(
          experiment,
          fmt::format("runs side by side need `resources.mem`, a part of the node's memory for each: without one the first run "
                      "has all of it, and the next waits; {} has none",
                      point),
          "resources: {mem: 4G}");
    }
    if (resources.gres && !times_gres(*resources.gres, 1)) {
      refuse(experiment, fmt::format("`gres: {}` cannot be multiplied for runs side by side", *resources.gres),
             "write counts as plain numbers: gpu:a100:2");
    }
  }
}

std::string pace_text(int lanes) { return lanes <= 1 ? "one after the other" : fmt::format("{} at a time", lanes); }

}  // namespace hpcbench
