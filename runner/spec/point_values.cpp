#include "spec/point_values.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>

#include "base/text.hpp"
#include "base/value.hpp"
#include "spec/fields.hpp"
#include "spec/parsed_experiment.hpp"
#include "spec/placeholders.hpp"

namespace hpcbench {

namespace {

/// What docs/run-directory.md names in an attempt's folder, as patterns.
constexpr std::array kOwnFiles = {
    "run.json",      "job.sh",           "claim*",     "started.json", "finished.json", "settled.json", "aside.json",
    "imported.json", "cancel_requested", "stopped",    "try[0-9]*",    "gpu.csv",       "gpu.*.csv",    "sacct.txt",
    "monitor.csv",   "monitor.*.csv",    "stdout.log", "stdout.*.log", "stderr.log",    "stderr.*.log", "ranks.log",
    "events.jsonl",  "events.*.jsonl",   "outside",    "outside.txt",  "sources",       "slurm-*.out",  "injected*.jsonl"};

std::optional<InputDeck> read_deck(const YamlNode& node, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.made();
  MapReader reader(node, "files", deck_keys(), diagnostics);
  InputDeck deck{{}, {}, place_of(node.location)};
  for (const char* const key : {"from", "to"}) {
    if (node.is_map() && !reader.has(key))
      diagnostics.add(node.location, fmt::format("an entry of `files` needs `{}`", key), "{from: HPL.dat.in, to: HPL.dat}");
  }
  assign(deck.from, reader.filled_text("from"));
  assign(deck.to, reader.filled_text("to"));
  reader.finish();
  if (diagnostics.made() != before) return std::nullopt;
  const YamlNode& to = *node.find("to");
  deck.place = place_of(to.location);
  const std::string why = find_placeholders(deck.to).empty() ? why_no_deck(deck.to) : "";
  if (!why.empty()) diagnostics.add(to.location, why, "name a file in the attempt's folder: to: HPL.dat");
  return why.empty() ? std::optional(deck) : std::nullopt;
}

}  // namespace

std::string why_no_deck(const std::string& to) {
  const std::filesystem::path path(to);
  const bool leaves =
      path.is_absolute() || std::any_of(path.begin(), path.end(), [](const auto& part) { return part == ".."; });
  if (leaves) return fmt::format("{} leaves the folder of the attempt", cite(to));
  const std::string normal = path.lexically_normal().string();
  if (normal.empty() || normal == "." || normal.ends_with('/')) return fmt::format("{} is no name of a file", cite(to));
  const std::string first = path.lexically_normal().begin()->string();
  return is_own_file(first) ? fmt::format("{} is a name of hpcbench's own in the folder of an attempt", cite(first)) : "";
}

bool is_own_file(const std::string& name) {
  return std::any_of(kOwnFiles.begin(), kOwnFiles.end(),
                     [&](const char* pattern) { return ::fnmatch(pattern, name.c_str(), 0) == 0; });
}

std::string repeated_deck(const std::vector<InputDeck>& decks) {
  std::set<std::string> seen;
  for (const InputDeck& deck : decks) {
    if (!seen.insert(std::filesystem::path(deck.to).lexically_normal().string()).second) return deck.to;
  }
  return "";
}

std::optional<std::vector<InputDeck>> read_decks(MapReader& reader, Diagnostics& diagnostics) {
  const YamlNode* node = reader.take("files");
  if (node == nullptr) return std::nullopt;
  std::vector<InputDeck> decks;
  if (node->is_list() && node->items.empty()) return decks;
  if (!expect_list(*node, "`files`", diagnostics)) return std::nullopt;
  for (const YamlNode& item : node->items) {
    if (diagnostics.full()) break;
    if (auto deck = read_deck(item, diagnostics)) decks.push_back(*std::move(deck));
  }
  if (const std::string twice = repeated_deck(decks); !twice.empty())
    diagnostics.add(node->location, fmt::format("two entries of `files` write {}", cite(twice)), "give one another `to`");
  return decks;
}

bool is_memory(std::string_view text) {
  if (!text.empty() && std::string_view("KMGT").find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return !text.empty() && text.size() <= 12 && text.find_first_not_of("0123456789") == std::string_view::npos &&
         text.find_first_not_of('0') != std::string_view::npos;
}

bool has_text_of(const std::vector<FilledText>& texts, std::string_view key) {
  return std::any_of(texts.begin(), texts.end(), [&](const FilledText& text) { return text.key == key; });
}

std::string set_resource(Resources& resources, const std::string& key, const std::string& value) {
  if (key == "time") {
    const auto seconds = parse_duration(value);
    if (!seconds || !(*seconds > 0) || *seconds >= 1e9) return "a time above 0: \"02:00:00\", 2h, 90m, 45s, or minutes";
    resources.time_s = seconds;
  } else if (key == "cpus_per_task") {
    const auto cores = Value::from_plain(value).integer();
    if (!cores || *cores < 1 || *cores > resources_keys().find("cpus_per_task")->most) return "an integer from 1 to 10000";
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
