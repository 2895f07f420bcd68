#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fakes/temporary_folder.hpp"
#include "trainers/ranks.hpp"

namespace hpcbench::train {

/// A folder with a small SQuAD 2.0 file (questions.json: 24 questions over 6 contexts, some without an answer), a vocabulary
/// and a model of two layers (model/), with caches and results beside them.
class SquadFixture {
 public:
  SquadFixture();
  std::string path(const std::string& name) const { return folder_ / name; }
  std::filesystem::path folder() const { return folder_.path(); }
  /// `run --task bert_squad ...` on that data in windows of 32 tokens, fp64, with further options behind.
  std::vector<std::string> options(const std::vector<std::string>& more) const;
  /// The same as a command of hpcbench-train.
  std::vector<std::string> command(const std::vector<std::string>& more) const;

 private:
  TemporaryFolder folder_;
};

std::vector<nlohmann::json> event_lines(const std::filesystem::path& path);
std::vector<nlohmann::json> event_lines(const std::filesystem::path& path, const std::string& event);

}  // namespace hpcbench::train
