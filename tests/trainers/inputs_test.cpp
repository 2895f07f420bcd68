#include <zlib.h>

#include <fstream>
#include <tuple>

#include "base/error.hpp"
#include "base/options.hpp"
#include "base/text.hpp"
#include "base/world.hpp"
#include "fakes/temporary_folder.hpp"
#include "tasks/mnist_rnn/digits.hpp"
#include "tasks/mnist_rnn/idx.hpp"
#include "tasks/mnist_rnn/mnist_settings.hpp"
#include "trainers/ranks.hpp"
#include "trainers/torch_doctest.hpp"
#include "training/training.hpp"

namespace hpcbench::train {

namespace {

std::string word(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

std::string images_bytes(std::uint32_t count, std::uint32_t side = 28) {
  return word(2051) + word(count) + word(side) + word(side) + std::string(count * side * side, '\x07');
}

std::string labels_bytes(std::uint32_t count) { return word(2049) + word(count) + std::string(count, '\x03'); }

void put(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

void put_gzipped(const std::string& path, const std::string& bytes) {
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
}

template <class Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

Environment environment_of(std::map<std::string, std::string> variables) {
  return [variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
}

Settings settings_of(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& variables = {}) {
  return read_command(arguments, environment_of(variables), "v").settings;
}

std::string option_error(const std::vector<std::string>& arguments) {
  return error_of([&] { settings_of(arguments); });
}

}  // namespace

TEST_CASE("IDX files: plain, gzipped, and what is wrong with others") {
  const TemporaryFolder folder;
  put(folder / "plain", images_bytes(3));
  put_gzipped(folder / "zipped", images_bytes(3));
  for (const char* name : {"plain", "zipped"}) {
    const IdxImages images = read_idx_images(folder / name);
    CHECK(images.count == 3);
    CHECK(images.rows == 28);
    CHECK(images.pixels == std::vector<std::uint8_t>(3 * 784, 7));
  }
  put(folder / "labels", labels_bytes(4));
  CHECK(read_idx_labels(folder / "labels") == std::vector<std::uint8_t>(4, 3));

  const auto complaint = [&](const std::string& bytes) {
    put(folder / "bad", bytes);
    const std::string text = error_of([&] { read_idx_images(folder / "bad"); });
    CHECK(text.rfind("error: " + (folder / "bad"), 0) == 0);
    return text;
  };
  CHECK(complaint("").find("ends before its header") != std::string::npos);
  CHECK(complaint(labels_bytes(3)).find("its magic number is 2049, not 2051") != std::string::npos);
  CHECK(complaint(images_bytes(3).substr(0, 2000)).find("announces 2352 bytes of data, it holds 1984") != std::string::npos);
  CHECK(complaint(images_bytes(3) + "x").find("too long") != std::string::npos);
  CHECK(complaint(word(2051) + word(0xffffffff) + word(28) + word(28) + "x").find("too short") != std::string::npos);
  CHECK(complaint(word(2051) + word(1) + word(99999) + word(28)).find("wrong header") != std::string::npos);
  put_gzipped(folder / "whole", images_bytes(30));
  CHECK(complaint(slurp(folder / "whole").substr(0, 40)).find("gzip stream ends too early") != std::string::npos);
  CHECK(error_of([&] { read_idx_images(folder / "absent"); }).find("absent cannot be read: No such file") != std::string::npos);
  CHECK(error_of([&] { read_idx_images(folder.path()); }).find("cannot be read") != std::string::npos);
}

TEST_CASE("the digits: with training images, and with the test images alone") {
  const TemporaryFolder folder;
  put(folder / "t10k-images-idx3-ubyte", images_bytes(10));
  put_gzipped(folder / "t10k-labels-idx1-ubyte.gz", labels_bytes(10));
  const Digits split = load_digits(folder.path(), std::nullopt);
  CHECK(split.train.size() == 8);
  CHECK(split.validation.size() == 2);
  REQUIRE(split.note.has_value());
  CHECK(split.note->find("8 of the 10 test images train, 2 validate") != std::string::npos);
  CHECK(load_digits(folder.path(), 0.5).train.size() == 5);
  put(folder / "train-images-idx3-ubyte", images_bytes(20));
  put(folder / "train-labels-idx1-ubyte", labels_bytes(20));
  const Digits whole = load_digits(folder.path(), std::nullopt);
  CHECK(whole.train.size() == 20);
  CHECK(whole.validation.size() == 10);
  CHECK_FALSE(whole.note.has_value());
  CHECK(load_digits(folder.path(), 0.25).train.size() == 5);
  put(folder / "train-labels-idx1-ubyte", labels_bytes(19));
  CHECK(error_of([&] { load_digits(folder.path(), std::nullopt); }).find("holds 19 labels for 20 images") != std::string::npos);
  put(folder / "train-labels-idx1-ubyte", word(2049) + word(20) + std::string(20, '\x0b'));
  CHECK(error_of([&] { load_digits(folder.path(), std::nullopt); }).find("the label 11, which is no digit") !=
        std::string::npos);
  put(folder / "train-images-idx3-ubyte", images_bytes(20, 14));
  CHECK(error_of([&] { load_digits(folder.path(), std::nullopt); }).find("14 x 14 pixels, not 28 x 28") != std::string::npos);
}

TEST_CASE("options: values, defaults, mistakes") {
  const Settings settings =
      settings_of({"run", "--strategy", "ddp", "--epochs=3", "--lr", "1e-2", "--batch-norm", "false", "--optimizer", "adamw"});
  CHECK(settings.strategy == "ddp");
  CHECK(settings.epochs == 3);
  CHECK(settings_of({"run"}).task == "mnist_rnn");
  CHECK(learning_rate(settings) == 0.01);
  CHECK_FALSE(settings.own<MnistSettings>().batch_norm);
  CHECK(weight_decay(settings) == 0.01);
  CHECK(learning_rate(settings_of({"run"})) == 0.1);
  CHECK(option_error({"run", "--epoch", "3"}).find("there is no option `--epoch` (did you mean `--epochs`?)") !=
        std::string::npos);
  CHECK(option_error({"run", "--epochs", "two"}) == "error: --epochs: `two` is not a whole number of at least 1");
  CHECK(option_error({"run", "--epochs", "0"}) == "error: --epochs: `0` is not a whole number of at least 1");
  for (const auto& [text, first, last] : {std::tuple("7", 7, 7), {"5-12", 5, 12}}) {
    const auto trace = settings_of({"run", "--trace", text, "--output", "."}).trace;
    REQUIRE(trace.has_value());
    CHECK((trace->first == first && trace->last == last && to_string(*trace) == text));
  }
  for (const char* text : {"", "0", "0-3", "5-3", "3-", "-3", "1-2-3", "x", "1e3", "99999999999999999999"}) {
    CHECK(option_error({"run", "--trace", text}) ==
          concat("error: --trace: `", text, "` is not a step, or the first and the last of several: 5 or 5-7"));
  }
  CHECK(option_error({"run", "--lr", "nan"}) == "error: --lr: `nan` is not a number of at least 0");
  CHECK(option_error({"run", "--shuffle", "yes"}) == "error: --shuffle: `yes` is not true or false");
  CHECK(option_error({"run", "--optimizer", "adamW"}) ==
        "error: --optimizer: `adamW` is not one of sgd, adadelta, adamw (did you mean `adamw`?)");
  CHECK(option_error({"run", "--train-share", "1.5"}).find("above 0 and at most 1") != std::string::npos);
  CHECK(option_error({"run", "--dropout", "2"}).find("below 2") != std::string::npos);
  CHECK(option_error({"run", "digits"}).find("unexpected argument `digits`") != std::string::npos);
  CHECK(option_error({"rum"}).find("there is no command `rum` (did you mean `run`?)") != std::string::npos);
  CHECK(option_error({}).find("a command is required") != std::string::npos);
  CHECK(option_error({"run", "--epochs"}).rfind("error: ", 0) == 0);
  CHECK(read_command({"run", "--help"}, environment_of({}), "v").text->find("--global-batch") != std::string::npos);
  CHECK(read_command({"--version"}, environment_of({}), "v 1").text == "v 1\n");
}

TEST_CASE("run.json: settings, names of the runner, mistakes, and the command line above it") {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& json, const std::vector<std::string>& arguments = {"run"}) {
    put(folder / "run.json", json);
    return settings_of(arguments, {{"HPCBENCH_RUN", folder / "run.json"}});
  };
  const Settings settings = read(
      R"({"task":"mnist_rnn","gpus":2,"settings":{"strategy":"ddp","epochs":3,"nodes":1,"gpus_per_node":2,"lr":5e-2,
          "global_batch":128,"shuffle":false,"data":"x y","seed":7,"task":"mnist_rnn"}})",
      {"run", "--epochs", "4"});
  CHECK(settings.strategy == "ddp");
  CHECK(settings.epochs == 4);
  CHECK(settings.lr == 0.05);
  CHECK(settings.global_batch == 128);
  CHECK_FALSE(settings.shuffle);
  CHECK(settings.data == "x y");
  CHECK(settings.seed == 7);
  CHECK(settings.gpus == 2);
  CHECK(settings.run_folder == folder.path());
  CHECK(last_epoch(read(R"({"task":null,"settings":{"other":1}})")) == 1);
  CHECK(error_of([&] { read(R"({"task":"mnist_rnn","settings":{"epohcs":1}})"); }).find("(did you mean `epochs`?)") !=
        std::string::npos);
  CHECK(error_of([&] { read(R"({"task":"mnist_rnn","settings":{"epochs":2.5}})"); }).find("`2.5` is not a whole number") !=
        std::string::npos);
  CHECK(error_of([&] { read(R"({"task":"mnist_rnn","settings":{"epochs":[1]}})"); }).find("a single value") !=
        std::string::npos);
  CHECK(error_of([&] { read("{"); }).find("is no JSON") != std::string::npos);
  CHECK(error_of([&] {
          settings_of({"run"}, {{"HPCBENCH_RUN", folder / "absent"}});
        }).find("cannot read") != std::string::npos);
}

TEST_CASE("settings that contradict each other") {
  const auto complaint = [](const std::vector<std::string>& arguments, int size) {
    World world;
    world.size = size;
    return error_of([&] { check_settings(settings_of(arguments), world); });
  };
  CHECK(complaint({"run", "--global-batch", "60"}, 3).empty());
  CHECK(complaint({"run", "--global-batch", "64"}, 3).find("choose a multiple of 3") != std::string::npos);
  CHECK(complaint({"run", "--global-batch", "64", "--batch-size", "32"}, 2).find("give one") != std::string::npos);
  CHECK(complaint({"run", "--momentum", "0.9"}, 1).find("a setting of sgd") != std::string::npos);
  CHECK(complaint({"run", "--cuda-graphs"}, 1).empty());
  CHECK(complaint({"run", "--cuda-graphs", "--strategy", "ddp"}, 1).find("is a setting of baseline") != std::string::npos);
  CHECK(complaint({"run", "--cuda-graphs", "--accumulate", "2"}, 1).find("choose `accumulate: 1`") != std::string::npos);
  World three;
  three.size = 3;
  CHECK(batch_per_process(settings_of({"run", "--global-batch", "60"}), three) == 20);
  CHECK(batch_per_process(settings_of({"run", "--batch-size", "32"}), three) == 32);
  CHECK(batch_per_process(settings_of({"run", "--global-batch", "60", "--accumulate", "2"}), three) == 10);
}

TEST_CASE("ranks from the environment") {
  const World torchrun = read_world(environment_of({{"RANK", "1"},
                                                    {"WORLD_SIZE", "4"},
                                                    {"LOCAL_RANK", "1"},
                                                    {"LOCAL_WORLD_SIZE", "2"},
                                                    {"MASTER_ADDR", "h"},
                                                    {"MASTER_PORT", "29500"},
                                                    {"OMPI_COMM_WORLD_RANK", "7"},
                                                    {"SLURM_PROCID", "9"},
                                                    {"SLURM_STEP_NUM_TASKS", "10"}}));
  CHECK(torchrun.rank == 1);
  CHECK(torchrun.size == 4);
  CHECK(torchrun.local_size == 2);
  CHECK(torchrun.master_port == 29500);
  const World slurm = read_world(environment_of({{"SLURM_PROCID", "2"},
                                                 {"SLURM_STEP_NUM_TASKS", "4"},
                                                 {"SLURM_LOCALID", "0"},
                                                 {"SLURM_JOB_NODELIST", "gpu[07-08],x1"},
                                                 {"SLURM_JOB_ID", "1234567"}}));
  CHECK(slurm.rank == 2);
  CHECK(slurm.local_rank == 0);
  CHECK(slurm.master_addr == "gpu07");
  CHECK(slurm.master_port == 19567);
  // Two ranks on two nodes, without --ntasks-per-node, in a step on the last two of the job's three.
  const World step = read_world(environment_of({{"SLURM_PROCID", "1"},
                                                {"SLURM_STEP_NUM_TASKS", "2"},
                                                {"SLURM_LOCALID", "0"},
                                                {"SLURM_NODEID", "1"},
                                                {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"},
                                                {"SLURM_STEP_NODELIST", "gpu[2-3]"},
                                                {"SLURM_JOB_NODELIST", "gpu[1-3]"},
                                                {"SLURM_JOB_ID", "7"}}));
  CHECK(step.local_size == 1);
  CHECK(step.master_addr == "gpu2");
  const auto local_size = [](const char* node, const char* tasks_per_node) {
    return read_world(environment_of({{"SLURM_PROCID", "0"},
                                      {"SLURM_STEP_NUM_TASKS", "20"},
                                      {"SLURM_NODEID", node},
                                      {"SLURM_TASKS_PER_NODE", tasks_per_node},
                                      {"SLURM_JOB_NODELIST", "a"},
                                      {"SLURM_JOB_ID", "7"}}))
        .local_size;
  };
  CHECK(local_size("1", "8(x2),4") == 8);
  CHECK(local_size("2", "8(x2),4") == 4);
  CHECK(local_size("3", "8(x2),4") == 20);  // unknown
  CHECK(read_world(environment_of({})).size == 1);
  CHECK(first_host("a,b") == "a");
  CHECK(first_host("n[3,5]-ib,m") == "n3-ib");
  const auto complaint = [](const std::map<std::string, std::string>& variables) {
    return error_of([&] { read_world(environment_of(variables)); });
  };
  CHECK(complaint({{"RANK", "0"}, {"WORLD_SIZE", "2"}}).find("MASTER_ADDR") != std::string::npos);
  CHECK(complaint({{"RANK", "2"}, {"WORLD_SIZE", "2"}}) == "error: RANK is 2, but WORLD_SIZE is only 2");
  CHECK(complaint({{"RANK", "x"}, {"WORLD_SIZE", "2"}}).find("RANK is `x`") != std::string::npos);
  CHECK(complaint({{"WORLD_SIZE", "2"}}).find("only WORLD_SIZE is set") != std::string::npos);
  const std::map<std::string, std::string> two = {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}};
  const auto with_port = [&](const char* port) {
    auto variables = two;
    variables["MASTER_PORT"] = port;
    return complaint(variables);
  };
  CHECK(with_port("65535").empty());
  CHECK(with_port("65536") ==
        "error: the environment variable MASTER_PORT is `65536`: a whole number of at least 1 and at most 65535 is needed");
  // Kubernetes sets this for a service named `master`: a single process meets no other.
  CHECK(read_world(environment_of({{"MASTER_PORT", "tcp://10.0.0.1:80"}})).size == 1);
  CHECK(thread_count(environment_of({{"OMP_NUM_THREADS", "3"}}), World{}) == 3);
}

TEST_CASE("ranks from mpirun, also within a job of Slurm, whose words are not theirs") {
  const std::map<std::string, std::string> batch = {
      {"SLURM_PROCID", "0"},         {"SLURM_NTASKS", "4"},         {"SLURM_LOCALID", "0"},          {"SLURM_JOB_ID", "7"},
      {"SLURM_STEP_NODELIST", "n2"}, {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_JOB_NODELIST", "n[1-2]"}};
  const auto with = [&](std::map<std::string, std::string> variables) {
    variables.insert(batch.begin(), batch.end());
    return read_world(environment_of(variables));
  };
  const World open_mpi = with({{"OMPI_COMM_WORLD_RANK", "3"},
                               {"OMPI_COMM_WORLD_SIZE", "4"},
                               {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                               {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  CHECK(open_mpi.rank == 3);
  CHECK(open_mpi.size == 4);
  CHECK(open_mpi.local_rank == 1);
  CHECK(open_mpi.local_size == 2);
  CHECK(open_mpi.master_addr == "n1");
  CHECK(open_mpi.master_port == 15007);
  const World mpich =
      with({{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}, {"MASTER_PORT", "9"}});
  CHECK(mpich.rank == 3);
  CHECK(mpich.size == 4);
  CHECK(mpich.local_rank == 1);
  CHECK(mpich.master_port == 9);
  // `srun --mpi=pmi2` sets PMI_RANK, but not the rank's number on its node.
  const World pmi2 = with({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}});
  CHECK(pmi2.master_addr.empty());
  CHECK(pmi2.size == 1);
  CHECK(error_of([] {
          read_world(environment_of({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}}));
        }).find("mpirun -x MASTER_ADDR=HOST -x MASTER_PORT=29500") != std::string::npos);
}

TEST_CASE("beside the steps of a Slurm job: one process, where the job has no more tasks") {
  // A batch script without --ntasks, and with --ntasks=1; the shell of `salloc -n 1`.
  CHECK(read_world(environment_of({{"SLURM_PROCID", "0"}, {"SLURM_LOCALID", "0"}, {"SLURM_JOB_ID", "7"}})).size == 1);
  CHECK(read_world(environment_of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}, {"SLURM_JOB_ID", "7"}})).size == 1);
  CHECK(read_world(environment_of({{"SLURM_NTASKS", "1"}, {"SLURM_JOB_ID", "7"}})).size == 1);
  for (const bool in_batch : {true, false}) {
    std::map<std::string, std::string> variables = {{"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "7"}};
    if (in_batch) variables["SLURM_PROCID"] = "0";
    const std::string text = error_of([&] { read_world(environment_of(variables)); });
    CHECK(text.find("4 tasks, but this process is none of them: start it by `srun hpcbench-train run") != std::string::npos);
  }
}

TEST_CASE("did you mean") {
  CHECK(did_you_mean("dpp", {"baseline", "ddp"}) == " (did you mean `ddp`?)");
  CHECK(did_you_mean("fsdp", {"baseline"}).empty());
}

}  // namespace hpcbench::train
