// Checkpoints in shards, by the real program: where they continue, and what remains of them when a rank dies while it saves.
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "fakes/temporary_folder.hpp"
#include "files/safetensors.hpp"
#include "trainers/squad_fixture.hpp"
#include "trainers/torch_doctest.hpp"

namespace hpcbench::train {

namespace {

using Texts = std::vector<std::string>;

Texts texts_with(Texts words, const Texts& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// A training of mnist_rnn with batch normalisation, of global batches of 48, by some strategy.
class ShardedFixture {
 public:
  struct Way {
    std::string strategy;
    int ranks;
    Texts more = {};
  };

  std::string path(const std::string& name) const { return folder_ / name; }

  Texts command(const Way& way, const Texts& more, const std::string& mode) const {
    const Texts worker = {program("trainer_parity_worker"), path("dump"), mode, "run", "--data", mnist_folder()};
    const Texts options = {"--global-batch", "48",    "--hidden",        "16",  "--eval", "false",
                           "--bind",         "false", "--bucket-cap-mb", "0.01"};
    return texts_with(texts_with(worker, options), texts_with(texts_with({"--strategy", way.strategy}, way.more), more));
  }

  std::vector<Ended> run(const Way& way, const Texts& more) const {
    return run_ranks(folder_.path(), way.ranks, command(way, more, "exact"));
  }

  /// Returns how rank `victim` ends by itself in this mode of the worker; then kills the others, which would wait for it.
  Ended end_of_victim(const Way& way, const Texts& more, const std::string& mode, int victim) const {
    const int port = free_port();
    std::vector<Process> ranks;
    for (int rank = 0; rank < way.ranks; ++rank) {
      ranks.emplace_back(folder_.path(), "rank" + std::to_string(rank), command(way, more, mode),
                         rank_environment(rank, way.ranks, port));
    }
    return ranks[static_cast<std::size_t>(victim)].wait();
  }

  /// Returns the final values of all ranks, as bytes.
  Texts end_of(const Way& way, const Texts& more) const {
    for (const Ended& ended : run(way, more)) {
      INFO(ended.err);
      REQUIRE(ended.exit_code == 0);
    }
    Texts states;
    for (const std::string& bytes : read_dumps(path("dump"), way.ranks).bytes)
      states.push_back(bytes.substr(bytes.find("state/")));
    return states;
  }

  Texts kept(const std::string& output, const std::string& format) const {
    return {"--output", path(output), "--checkpoint", "last", "--checkpoint-format", format};
  }

  Texts names_in(const std::string& output) const {
    Texts names;
    if (!std::filesystem::exists(path(output) + "/checkpoint/last")) return names;
    for (const auto& entry : std::filesystem::directory_iterator(path(output) + "/checkpoint/last"))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("a checkpoint in shards goes on anywhere, in the bits of a whole one") {
  const ShardedFixture fixture;
  const std::vector<ShardedFixture::Way> ways = {{"fsdp", 4, {"--shard-size", "2"}}, {"zero1", 3}, {"ddp", 2}, {"zero2", 4}};
  for (std::size_t index = 0; index < ways.size(); ++index) {
    const ShardedFixture::Way& first = ways[index];
    const ShardedFixture::Way& second = ways[(index + 1) % ways.size()];
    CAPTURE(first.strategy);
    CAPTURE(first.ranks);
    CAPTURE(second.strategy);
    for (const char* const format : {"whole", "sharded"})
      fixture.end_of(first, texts_with(fixture.kept(format, format), {"--max-steps", "3"}));
    const auto go_on = [&](const char* from, const char* format) {
      return fixture.end_of(second, texts_with(fixture.kept("after", format),
                                               {"--max-steps", "6", "--resume", fixture.path(from) + "/checkpoint"}));
    };
    // Bytes written and bytes read are independent.
    CHECK((go_on("sharded", "whole") == go_on("whole", "sharded")));
    const bool cut_up = first.strategy != "ddp";
    const std::size_t shards = !cut_up ? 1 : first.more.empty() ? static_cast<std::size_t>(first.ranks) : 2;
    CHECK(fixture.names_in("sharded").size() == shards);
    for (const char* const output : {"whole", "sharded", "after"}) std::filesystem::remove_all(fixture.path(output));
  }
}

TEST_CASE("one format takes the place of the other in the same folder") {
  const ShardedFixture fixture;
  const ShardedFixture::Way way{"fsdp", 2};
  const Texts expected = fixture.end_of(way, {"--max-steps", "8"});
  const auto part = [&](const char* format, const char* steps, const Texts& more) {
    return fixture.end_of(way, texts_with(texts_with(fixture.kept("out", format), {"--max-steps", steps}), more));
  };
  const Texts resumed = {"--resume", fixture.path("out/checkpoint")};
  part("sharded", "2", {});
  CHECK(fixture.names_in("out") == Texts{"1-rank-0of2.safetensors", "1-rank-1of2.safetensors"});
  part("whole", "4", resumed);
  CHECK(fixture.names_in("out").empty());
  part("sharded", "6", resumed);
  CHECK(fixture.names_in("out").size() == 2);
  CHECK((part("sharded", "8", resumed) == expected));
  CHECK(fixture.names_in("out") == Texts{"2-rank-0of2.safetensors", "2-rank-1of2.safetensors"});
}

TEST_CASE("killed before any call that makes a checkpoint: the previous one continues, bit for bit") {
  const ShardedFixture fixture;
  const ShardedFixture::Way one{"baseline", 1};
  const ShardedFixture::Way two{"fsdp", 2};
  // Each rank keeps as many tensors at every save.
  const auto tensors_in = [&](const ShardedFixture::Way& way, const char* format, const std::string& file) {
    fixture.end_of(way, texts_with(fixture.kept("out", format), {"--max-steps", "1"}));
    const int tensors = static_cast<int>(SafetensorsFile(fixture.path("out/checkpoint/") + file).tensors().size());
    std::filesystem::remove_all(fixture.path("out"));
    return tensors;
  };
  // Saves after steps 2, 4 and 5. Returns whether there was a checkpoint to continue.
  const auto kill_and_go_on = [&](const ShardedFixture::Way& way, const char* format, const Texts& expected, int rank,
                                  int call) {
    CAPTURE(format);
    CAPTURE(rank);
    CAPTURE(call);
    const Texts options = texts_with(fixture.kept("out", format), {"--max-steps", "5", "--checkpoint-every", "2"});
    const std::string mode = "kill_rank_" + std::to_string(rank) + "_at_call_" + std::to_string(call);
    CHECK(fixture.end_of_victim(way, options, mode, rank).signal == SIGKILL);
    const bool is_kept = std::filesystem::exists(fixture.path("out/checkpoint/last.safetensors"));
    const Texts resumed = is_kept ? texts_with(options, {"--resume", fixture.path("out/checkpoint")}) : options;
    CHECK((fixture.end_of(way, resumed) == expected));
    // No half-written file remains.
    CHECK(fixture.names_in("out").size() == (way.ranks == 1 ? 0 : static_cast<std::size_t>(way.ranks)));
    std::filesystem::remove_all(fixture.path("out"));
    return is_kept;
  };

  const Texts expected_of_two = fixture.end_of(two, {"--max-steps", "5"});
  // A rank writes the header and the tensors of its shard (of these one in three is tried), then fsync, rename, fsync of the
  // folder. Rank 0 makes five calls of the index (its header twice, the second time with the seal), removes the two shards of
  // the save before, and tries to remove their folder.
  const int shard = 1 + tensors_in(two, "sharded", "last/1-rank-0of2.safetensors") + 3;
  const int index = 5;
  const int first_save = shard + index + 1;
  for (const int call : {1, shard, shard + 1, shard + 2, shard + index - 1})
    CHECK_FALSE(kill_and_go_on(two, "sharded", expected_of_two, 0, call));  // before the first index has its name
  for (const int call : {shard + index, first_save}) CHECK(kill_and_go_on(two, "sharded", expected_of_two, 0, call));
  for (int call = 1; call <= shard + index + 2 + 1; call += call < shard - 4 ? 3 : 1)
    CHECK(kill_and_go_on(two, "sharded", expected_of_two, 0, first_save + call));
  const int shard_of_other = 1 + tensors_in(two, "sharded", "last/1-rank-1of2.safetensors") + 3;
  for (const int call : {1, shard_of_other - 1, shard_of_other})
    CHECK(kill_and_go_on(two, "sharded", expected_of_two, 1, shard_of_other + call));

  const Texts expected_of_one = fixture.end_of(one, {"--max-steps", "5"});
  const int file = 1 + tensors_in(one, "whole", "last.safetensors") + 1 + 3;
  const int whole_save = file + 1;  // and the shards' folder, which does not exist
  for (const int call : {1, file - 4, file - 3, file - 2, file - 1})
    CHECK_FALSE(kill_and_go_on(one, "whole", expected_of_one, 0, call));
  CHECK(kill_and_go_on(one, "whole", expected_of_one, 0, file));
  for (const int call : {1, 2, file - 4, file - 3, file - 2, file - 1, file, whole_save})
    CHECK(kill_and_go_on(one, "whole", expected_of_one, 0, whole_save + call));
}

TEST_CASE("killed before a whole checkpoint replaces one in shards: the shards continue") {
  const ShardedFixture fixture;
  const ShardedFixture::Way way{"zero2", 2};
  const Texts expected = fixture.end_of(way, {"--max-steps", "4"});
  fixture.end_of(way, texts_with(fixture.kept("other", "whole"), {"--max-steps", "1"}));
  const std::size_t tensors = SafetensorsFile(fixture.path("other/checkpoint/last.safetensors")).tensors().size();
  fixture.end_of(way, texts_with(fixture.kept("out", "sharded"), {"--max-steps", "2"}));
  const Texts resumed = {"--resume", fixture.path("out/checkpoint")};
  // Before fsync, and before the name that makes it the checkpoint.
  for (const std::size_t call : {1 + tensors + 1, 1 + tensors + 2}) {
    CAPTURE(call);
    const Texts whole = texts_with(texts_with(fixture.kept("out", "whole"), {"--max-steps", "3"}), resumed);
    const std::string mode = "kill_rank_0_at_call_" + std::to_string(call);
    CHECK(fixture.end_of_victim(way, whole, mode, 0).signal == SIGKILL);
    CHECK(fixture.names_in("out") == Texts{"1-rank-0of2.safetensors", "1-rank-1of2.safetensors"});
    CHECK((fixture.end_of(way, texts_with({"--max-steps", "4"}, resumed)) == expected));
  }
}

TEST_CASE("shards that are not those of the checkpoint end the program with exit code 3 and the file's name") {
  const ShardedFixture fixture;
  const ShardedFixture::Way way{"zero2", 2};
  const Texts options = texts_with(fixture.kept("out", "sharded"), {"--max-steps", "2"});
  fixture.end_of(way, options);
  const std::string shard = fixture.path("out/checkpoint/last/1-rank-1of2.safetensors");
  const std::string bytes = slurp(shard);
  const auto complaint = [&](int exit_code = 3, const Texts& more = {}) {
    const std::vector<Ended> ended = fixture.run(
        way, texts_with(texts_with(options, {"--max-steps", "4", "--resume", fixture.path("out/checkpoint")}), more));
    bool has_cause = false;  // a rank that learns of the other one's end before its own exits with 1
    for (const Ended& each : ended) {
      CAPTURE(each.err);
      const bool of_peer = each.err.rfind("error: another rank failed first: ", 0) == 0 && each.exit_code == 1;
      CHECK((of_peer || each.exit_code == exit_code));
      CHECK(each.err.rfind("error: ", 0) == 0);
      has_cause |= each.exit_code == exit_code;
    }
    CHECK(has_cause);
    return ended.front().err;
  };
  std::string changed = bytes;
  changed[changed.size() - 5] = static_cast<char>(changed[changed.size() - 5] ^ 1);
  std::ofstream(shard, std::ios::binary) << changed;
  CHECK(complaint().find(shard + " is damaged, or of another checkpoint") != std::string::npos);
  std::ofstream(shard, std::ios::binary) << bytes.substr(0, bytes.size() / 2);
  CHECK(complaint().find(shard + " has ") != std::string::npos);
  std::filesystem::remove(shard);
  CHECK(complaint().find("cannot read " + shard) != std::string::npos);
  std::ofstream(shard, std::ios::binary) << bytes;
  CHECK(complaint(2, {"--lr", "0.5"}).find("is of a run with other settings: lr") != std::string::npos);
  const Ended alone = run_alone(std::filesystem::path(fixture.path(".")),
                                {program("hpcbench-train"), "run", "--checkpoint-format", "sharded", "--data", mnist_folder()});
  CHECK(alone.exit_code == 2);
  CHECK(alone.err.find("error: checkpoint_format sharded is that of the last state") != std::string::npos);
}

}  // namespace hpcbench::train
