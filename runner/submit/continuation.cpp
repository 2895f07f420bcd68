#include "submit/continuation.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "base/files.hpp"
#include "base/text.hpp"
#include "runfiles/layout.hpp"
#include "runfiles/run_info.hpp"
#include "spec/point_values.hpp"
#include "submit/judge.hpp"

namespace hpcbench {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kEventsTail = 65536;  // bytes; the last step or epoch stands there
constexpr std::uintmax_t kComparedBytes = 64
                                          << 20;  // larger files count as changed: they are not read to say that they did not
constexpr std::size_t kMostFiles = 10'000;

std::string attempt_folder(const std::string& results, AttemptKey key, int attempt) {
  key.attempt = attempt;
  return results + "/" + to_string(key);
}

RunInfo run_info(const std::string& folder) { return parse_run_json(read_file_if_there(folder + "/run.json").value_or("")); }

/// How far a program says that it came.
struct Position {
  std::optional<long long> step, epoch;
  bool known() const { return step || epoch; }
};

Position last_position(const std::string& folder) {
  Position position;
  const std::string events = program_file(folder, run_dir_of(folder), "events.jsonl");
  for (const std::string& line : split(read_tail(events, kEventsTail), '\n')) {
    const nlohmann::json event = nlohmann::json::parse(line, nullptr, false);
    if (!event.is_object()) continue;  // also a first line that was cut
    const auto take = [&](const char* key, std::optional<long long>& most) {
      const auto found = event.find(key);
      if (found != event.end() && found->is_number_integer()) most = std::max(most.value_or(0), found->get<long long>());
    };
    take("step", position.step);
    take("epoch", position.epoch);
  }
  return position;
}

bool is_beyond(const Position& now, const Position& before) {
  if (now.step && before.step) return *now.step > *before.step;
  if (now.epoch && before.epoch) return *now.epoch > *before.epoch;
  return true;
}

/// What the program wrote into its folder beside events, relative to that folder.
std::vector<fs::path> files_of_program(const std::string& attempt_folder) {
  const RunInfo info = run_info(attempt_folder);
  const std::string folder = run_dir_of(attempt_folder, info);
  const bool is_shared = folder == attempt_folder;  // with hpcbench's own files
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end && files.size() < kMostFiles;
       at.increment(error)) {
    const fs::path path = at->path().lexically_relative(folder);
    if (at.depth() == 0 && is_own_file(path.string()) && (is_shared || path.string().starts_with("events."))) {
      at.disable_recursion_pending();
    } else if (at->is_regular_file(error) &&
               std::find(info.decks.begin(), info.decks.end(), path.string()) == info.decks.end()) {
      files.push_back(path);
    }
  }
  return files;
}

bool same_content(const fs::path& one, const fs::path& other) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(one, error);
  if (error || fs::file_size(other, error) != size || error || size > kComparedBytes) return false;
  std::ifstream left(one, std::ios::binary), right(other, std::ios::binary);
  std::array<char, 65536> of_left{}, of_right{};
  while (left && right) {
    left.read(of_left.data(), of_left.size());
    right.read(of_right.data(), of_right.size());
    if (left.gcount() != right.gcount()) return false;
    if (!std::equal(of_left.begin(), of_left.begin() + left.gcount(), of_right.begin())) return false;
  }
  return left.eof() && right.eof();
}

/// By the step or epoch that its events reach; where it writes none by the files that it left. Where neither is known, it did.
bool made_progress(const std::string& results, const AttemptKey& key) {
  const std::string folder = attempt_folder(results, key, key.attempt);
  const Segment place = segment_of(results, key);
  const Position now = last_position(folder);
  for (auto before = place.before.rbegin(); before != place.before.rend(); ++before) {
    const Position then = last_position(attempt_folder(results, key, *before));
    if (then.known()) return now.known() && is_beyond(now, then);
  }
  if (now.known()) return true;
  const std::vector<fs::path> files = files_of_program(folder);
  if (place.from == 0) return true;
  const std::string from = attempt_folder(results, key, place.from);
  if (files.empty()) return files_of_program(from).empty();
  const fs::path now_in = run_dir_of(folder), then_in = run_dir_of(from);
  return std::any_of(files.begin(), files.end(),
                     [&](const fs::path& file) { return !same_content(now_in / file, then_in / file); });
}

bool has_saved(const std::string& folder, bool is_trainer) {
  if (is_trainer) return ::access((run_dir_of(folder) + "/checkpoint/last.safetensors").c_str(), F_OK) == 0;
  return !files_of_program(folder).empty();
}

}  // namespace

Segment segment_of(const std::string& results, const AttemptKey& key) {
  return run_info(attempt_folder(results, key, key.attempt)).segment.value_or(Segment());
}

Segment segment_after(const std::string& results, const AttemptKey& key, bool is_trainer) {
  Segment place = segment_of(results, key);
  place.before.push_back(key.attempt);
  if (has_saved(attempt_folder(results, key, key.attempt), is_trainer)) {
    place.from = key.attempt;
  } else if (place.from > 0 && !has_saved(attempt_folder(results, key, place.from), is_trainer)) {
    place.from = 0;
  }
  return place;
}

bool is_to_continue(const Experiment& experiment, const std::string& folder, State outcome) {
  if (!experiment.continuation || !experiment.continuation->goes_on_after(outcome)) return false;
  if (outcome != State::failed) return true;
  // A program that cannot work would fail as often as `max` lets it.
  const std::optional<Segment> segment = run_info(folder).segment;
  return ended_badly(folder) && (has_saved(folder, experiment.is_trainer()) || (segment && segment->from > 0));
}

std::string why_not_continued(const Experiment& experiment, const std::string& results, const AttemptKey& key, State outcome) {
  if (!is_to_continue(experiment, results + "/" + to_string(key), outcome)) return "";
  const Segment place = segment_of(results, key);
  const int segments = static_cast<int>(place.before.size()) + 1;
  if (segments >= experiment.continuation->max) {
    return fmt::format("not continued: that was segment {} of at most {} (`continue.max`)", segments,
                       experiment.continuation->max);
  }
  if (place.before.empty() || made_progress(results, key)) return "";
  const bool before = made_progress(results, {key.config_id, key.run, place.before.back()});
  return before ? "" : "not continued: two segments in a row made no progress";
}

bool goes_on(const Experiment& experiment, const std::string& results, const AttemptKey& key, State outcome) {
  return is_to_continue(experiment, results + "/" + to_string(key), outcome) &&
         why_not_continued(experiment, results, key, outcome).empty();
}

}  // namespace hpcbench
