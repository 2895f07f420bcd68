// The shards that the ranks write equal the state that they would have gathered, bit for bit.
#include <ATen/ops/arange.h>

#include <cstdint>
#include <fstream>
#include <string>

#include "base/error.hpp"
#include "fakes/temporary_folder.hpp"
#include "files/shard_file.hpp"
#include "trainers/strategies/trial.hpp"
#include "training/checkpoint.hpp"

namespace hpcbench::train {

namespace {

TrainingCheckpoint checkpoint_of(const Kept& kept) {
  TrainingCheckpoint checkpoint;
  checkpoint.state.optimizer_steps = kept.steps;
  checkpoint.settings = {{"seed", "1"}};
  checkpoint.model = kept.model;
  checkpoint.optimizer = kept.optimizer;
  return checkpoint;
}

/// Writes the shards of all ranks and their index; returns their number.
std::size_t write_in_shards(const std::filesystem::path& path, const std::vector<RankResult>& results) {
  const TrainingCheckpoint checkpoint = checkpoint_of(results.front().kept);
  std::filesystem::create_directories(shard_folder(path));
  std::vector<ShardEntry> entries;
  for (const RankResult& result : results) {
    if (result.shard) entries.push_back(write_checkpoint_shard(path, 1, *result.shard, checkpoint));
  }
  write_checkpoint_index(path, checkpoint, entries);
  return entries.size();
}

RankResult read_back(const std::filesystem::path& path, const Kept& layout) {
  const TrainingCheckpoint checkpoint = read_checkpoint(path, {{"seed", "1"}}, layout.model, layout.optimizer);
  RankResult result;
  result.kept = {checkpoint.model, checkpoint.optimizer, checkpoint.state.optimizer_steps};
  return result;
}

void check_shards(const Trial& trial, std::size_t shards) {
  CAPTURE(trial.strategy);
  CAPTURE(trial.ranks);
  CAPTURE(trial.model);
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "last.safetensors";
  const std::vector<RankResult> results = run_trial(trial);
  CHECK(write_in_shards(path, results) == shards);
  const RankResult joined = read_back(path, results.front().kept);
  CHECK((bits_of(joined) == bits_of(results.front())));
  CHECK(joined.kept.steps == trial.steps);
}

/// Returns how much this process has read so far, from files and elsewhere; 0 if the kernel does not count it.
std::int64_t bytes_read() {
  std::ifstream counts("/proc/self/io");
  std::string name;
  std::int64_t bytes = 0;
  while (counts >> name >> bytes) {
    if (name == "rchar:") return bytes;
  }
  return 0;
}

Trial short_trial(const std::string& strategy, int ranks, const std::string& model) {
  Trial trial;
  trial.strategy = strategy;
  trial.ranks = ranks;
  trial.model = model;
  trial.optimizer = OptimizerKind::adamw;
  trial.steps = 2;
  return trial;
}

}  // namespace

TEST_CASE("shards of all ranks joined are the whole state: strategies, ranks, models, optimisers") {
  for (const std::string strategy : {"baseline", "dp", "ddp", "zero1", "zero2", "fsdp"}) {
    const bool is_cut_up = strategy.find("zero") == 0 || strategy == "fsdp";
    for (const int ranks : {1, 2, 3, 4}) {
      if (strategy == "baseline" && ranks > 1) continue;
      for (const char* const model : {"mnist_rnn_batch_norm", "chain"}) {
        for (const OptimizerKind kind : {OptimizerKind::adamw, OptimizerKind::sgd}) {
          Trial trial = short_trial(strategy, ranks, model);
          trial.optimizer = kind;
          check_shards(trial, is_cut_up ? static_cast<std::size_t>(ranks) : 1);
        }
      }
    }
  }
}

TEST_CASE("of replicas one writes; a rank without any parameter writes an empty shard") {
  Trial hybrid = short_trial("fsdp", 4, "mnist_rnn_batch_norm");
  hybrid.shard_size = 2;
  check_shards(hybrid, 2);
  Trial whole = short_trial("fsdp", 4, "bert");
  whole.wrap = FsdpWrap::none;
  check_shards(whole, 4);
}

TEST_CASE("a shard's size and hash are known from its writing: the file is not read for them") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "last.safetensors";
  std::filesystem::create_directories(shard_folder(path));
  constexpr std::int64_t kElements = std::int64_t{1} << 20;
  TrainingCheckpoint layout;
  layout.model = {
      {"bytes", at::arange(5, at::kByte)}, {"floats", at::arange(kElements, at::kFloat)}, {"steps", at::arange(1, at::kLong)}};
  StateShard shard;
  for (std::size_t index = 0; index < layout.model.size(); ++index)
    shard.model.push_back({index, 0, layout.model[index].tensor});
  const std::int64_t before = bytes_read();
  const ShardEntry entry = write_checkpoint_shard(path, 1, shard, layout);
  CHECK(bytes_read() - before < kElements);
  const ShardEntry found = describe_shard(shard_folder(path) / entry.file);
  CHECK(entry.bytes == found.bytes);
  CHECK(entry.xxh3 == found.xxh3);
  CHECK(entry.bytes > 4 * kElements);
}

TEST_CASE("shards without an index change nothing: the checkpoint before them stays whole") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "last.safetensors";
  Trial trial = short_trial("zero2", 2, "chain");
  const std::vector<RankResult> before = run_trial(trial);
  write_in_shards(path, before);
  trial.steps = 3;
  const std::vector<RankResult> after = run_trial(trial);
  write_checkpoint_shard(path, 2, *after.back().shard, checkpoint_of(after.front().kept));  // and here all ranks were killed
  CHECK((bits_of(read_back(path, before.front().kept)) == bits_of(before.front())));
}

TEST_CASE("shards that are missing, damaged or of others are refused by name") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "last.safetensors";
  const std::vector<RankResult> results = run_trial(short_trial("fsdp", 2, "chain"));
  const TrainingCheckpoint checkpoint = checkpoint_of(results.front().kept);
  write_in_shards(path, results);
  const auto error = [&] {
    try {
      read_back(path, results.front().kept);
    } catch (const DataError& problem) {
      return std::string(problem.what());
    }
    return std::string();
  };
  CHECK(error().empty());
  const std::filesystem::path first = shard_folder(path) / "1-rank-0of2.safetensors";
  const std::filesystem::path second = shard_folder(path) / "1-rank-1of2.safetensors";
  const std::filesystem::path aside = folder.path() / "aside";
  std::filesystem::rename(second, aside);
  CHECK(error() == "error: cannot read " + second.string() + ": No such file or directory");
  std::filesystem::copy_file(first, second);  // as many bytes: ranks have equal parts of the chain
  CHECK(error().rfind("error: " + second.string() + " ", 0) == 0);
  std::filesystem::remove(second);
  std::filesystem::create_directory(second);
  CHECK(error().rfind("error: cannot read " + second.string() + ": ", 0) == 0);
  std::filesystem::remove(second);
  std::filesystem::rename(aside, second);
  CHECK(error().empty());

  // The index agrees with the files, but they are not those of a whole state.
  const auto with_shards = [&](const std::vector<std::size_t>& ranks) {
    std::vector<ShardEntry> entries;
    for (const std::size_t rank : ranks) entries.push_back(write_checkpoint_shard(path, 1, *results[rank].shard, checkpoint));
    write_checkpoint_index(path, checkpoint, entries);
    return error();
  };
  CHECK(with_shards({0}).find(" do not hold each element of the tensor model/") != std::string::npos);
  CHECK(with_shards({0, 1, 1}).find(" do not hold each element of the tensor model/") != std::string::npos);
  CHECK(with_shards({0, 1}).empty());
  StateShard far = *results[1].shard;
  far.model.front().begin += 1 << 20;
  const ShardEntry entry = write_checkpoint_shard(path, 2, far, checkpoint);
  write_checkpoint_index(path, checkpoint, {entry});
  CHECK(error().find("2-rank-1of2.safetensors: its part of the tensor model/") != std::string::npos);
  // Another model's.
  CHECK(with_shards({0, 1}).empty());
  Kept other = results.front().kept;
  other.model.front().name = "another";
  CHECK_THROWS_WITH_AS(read_back(path, other), doctest::Contains("which the model has not"), DataError);
}

}  // namespace hpcbench::train
