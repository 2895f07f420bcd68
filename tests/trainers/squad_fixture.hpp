#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fakes/temporary_folder.hpp"
#include "trainers/dump.hpp"
#include "trainers/ranks.hpp"

namespace hpcbench::train {

/// A folder with a small SQuAD 2.0 file (questions.json: 24 questions over 6 contexts, some without an answer), a vocabulary
/// and a model of two layers (model/), with caches and results beside them.
class SquadFixture {
 public:
  SquadFixture();
  std::string path(const std::string& name) const { return folder_ / name; }
  std::filesystem::path folder() const { return folder_.path(); }
  /// Returns `run --task bert_squad ...` on that data in windows of 32 tokens, fp64, with further options behind.
  std::vector<std::string> options(const std::vector<std::string>& more) const;
  /// Returns the output of trainer_parity_worker for such a run without evaluation, `size` ranks of ddp or the baseline. `mode`
  /// is the worker's. Throws the message of a failure.
  Dump train(int size, const std::vector<std::string>& more, const std::string& mode = "exact") const;
  /// Returns how the ranks of such a run ended.
  std::vector<Ended> ranks_of(int size, const std::vector<std::string>& more, const std::string& mode,
                              const std::string& dump) const;
  /// Returns the same as a command of hpcbench-train.
  std::vector<std::string> command(const std::vector<std::string>& more) const;

 private:
  TemporaryFolder folder_;
};

std::vector<nlohmann::json> event_lines(const std::filesystem::path& path);
std::vector<nlohmann::json> event_lines(const std::filesystem::path& path, const std::string& event);

}  // namespace hpcbench::train
