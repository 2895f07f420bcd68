#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.hpp"
#include "devices/bring.hpp"
#include "devices/device.hpp"
#include "fakes/temporary_folder.hpp"
#include "optim/optimizer.hpp"
#include "optim/torch_update.hpp"
#include "tasks/bert_squad/bert_config.hpp"
#include "tasks/bert_squad/squad_settings.hpp"
#include "tasks/mnist_rnn/lstm.hpp"
#include "tasks/task.hpp"
#include "trainers/ranks.hpp"
#include "trainers/torch_doctest.hpp"
#include "training/program.hpp"
#include "training/run_facts.hpp"
#include "training/training.hpp"

namespace hpcbench::train {

namespace {

using SeamJson = nlohmann::json;

std::vector<SeamJson> events_in(const std::filesystem::path& path, const std::string& name) {
  std::vector<SeamJson> found;
  std::istringstream lines(slurp(path));
  for (std::string line; std::getline(lines, line);) {
    SeamJson event = SeamJson::parse(line);
    if (event.at("event") == name) found.push_back(event);
  }
  return found;
}

/// Returns parameters after some steps on the same random gradients.
std::vector<at::Tensor> trained(OptimizerOptions options, bool by_torch, at::ScalarType type) {
  options.torch_kernels = by_torch;
  at::Generator generator = at::detail::createCPUGenerator(7);
  std::vector<NamedTensor> parameters;
  for (const std::vector<std::int64_t>& sizes : {std::vector<std::int64_t>{7, 5}, {5}, {40, 3}})
    parameters.push_back({"p" + std::to_string(parameters.size()), at::empty(sizes, type).normal_(0, 1, generator)});
  for (NamedTensor& each : parameters) each.tensor.requires_grad_();
  Optimizer optimizer(options, parameters);
  for (int step = 0; step < 10; ++step) {
    for (std::size_t index = 0; index < parameters.size(); ++index) {
      at::Tensor& parameter = parameters[index].tensor;
      const at::Tensor gradient = at::empty(parameter.sizes(), type).normal_(0, 1, generator);
      // A parameter without a gradient is unchanged.
      if (step > 0 || index > 0) parameter.mutable_grad() = gradient;
    }
    optimizer.step(0.01);
    optimizer.clear_gradients();
  }
  std::vector<at::Tensor> values;
  for (const NamedTensor& each : parameters) values.push_back(each.tensor.detach());
  for (const NamedTensor& each : optimizer.state()) values.push_back(each.tensor);
  return values;
}

Ended train_with(const TemporaryFolder& folder, const std::vector<std::string>& options,
                 std::map<std::string, std::string> environment = {}) {
  std::vector<std::string> command = {program("hpcbench-train"), "run", "--data", mnist_folder(), "--events",
                                      folder / "events.jsonl"};
  command.insert(command.end(), options.begin(), options.end());
  return run_alone(folder.path(), command, std::move(environment));
}

}  // namespace

TEST_CASE("the LSTM by LibTorch's operators is ours: values and derivatives") {
  at::Generator generator = at::detail::createCPUGenerator(3);
  const auto drawn = [&](at::IntArrayRef sizes) { return at::empty(sizes, at::kDouble).normal_(0, 0.4, generator); };
  const at::Tensor sequences = drawn({9, 4, 6});
  const at::Tensor towards = drawn({4, 5});
  LstmWeights weights{drawn({20, 6}), drawn({20, 5}), drawn({20}), drawn({20})};
  at::Tensor* const tensors[] = {&weights.input, &weights.recurrent, &weights.input_bias, &weights.recurrent_bias};
  std::vector<std::vector<at::Tensor>> found;
  for (const bool by_torch : {false, true}) {
    for (at::Tensor* each : tensors) {
      each->requires_grad_();
      each->mutable_grad().reset();
    }
    const at::Tensor last = by_torch ? torch_lstm_last_state(sequences, weights) : lstm_last_state(sequences, weights);
    (last * towards).sum().backward();
    found.push_back({last.detach()});
    for (const at::Tensor* each : tensors) found.back().push_back(each->grad());
  }
  REQUIRE(found[0].size() == 5);
  for (std::size_t index = 0; index < 5; ++index) CHECK(relative_difference(found[1][index], found[0][index]) < 1e-12);
}

TEST_CASE("the optimisers by LibTorch's operators are ours") {
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adadelta, OptimizerKind::adamw}) {
    for (const double weight_decay : {0.0, 0.1}) {
      for (const double clip : {0.0, 0.5}) {
        for (const bool decay_bias : {true, false}) {
          CAPTURE(to_string(kind));
          CAPTURE(weight_decay);
          CAPTURE(clip);
          OptimizerOptions options{kind, kind == OptimizerKind::sgd ? 0.9 : 0.0, weight_decay, decay_bias, clip};
          for (const auto& [type, tolerance] : {std::pair(at::kDouble, 1e-12), std::pair(at::kFloat, 1e-5)}) {
            const std::vector<at::Tensor> own = trained(options, false, type);
            const std::vector<at::Tensor> by_torch = trained(options, true, type);
            REQUIRE(own.size() == by_torch.size());
            for (std::size_t index = 0; index < own.size(); ++index)
              CHECK(relative_difference(by_torch[index], own[index]) < tolerance);
          }
        }
      }
    }
  }
}

TEST_CASE("an update that is decided on the device: clipped as on the host, and none after a loss that was not finite") {
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adadelta, OptimizerKind::adamw}) {
    for (const auto& [type, tolerance] : {std::pair(at::kDouble, 1e-12), std::pair(at::kFloat, 1e-5)}) {
      for (const double clip : {0.5, 100.0}) {
        std::vector<std::vector<at::Tensor>> found;
        for (const bool on_device : {false, true}) {
          at::Generator generator = at::detail::createCPUGenerator(11);
          const auto drawn = [&] { return at::empty({6, 5}, type).normal_(0, 1, generator); };
          const UpdatePart part{drawn(), at::zeros({6, 5}, type), at::zeros({6, 5}, type), 0.1};
          part.parameter.mutable_grad() = drawn();
          const at::Tensor norm = gradient_norm_by_torch({part.parameter.grad()});
          TorchUpdate update{kind, 0.01, 0.9};
          if (on_device) {
            update.divisor = clip_divisor_by_torch(norm, clip, type);
          } else {
            update.scale = std::min(1.0, clip / (norm.item<double>() + 1e-6));
          }
          update_by_torch({part}, update);
          found.push_back({part.parameter, part.first});
        }
        for (std::size_t index = 0; index < 2; ++index)
          CHECK(relative_difference(found[1][index], found[0][index]) < tolerance);
      }
    }
  }
  SpoiltMark mark;
  CHECK(!mark.read().defined());
  const auto updated = [&](double loss) {
    mark.note(at::scalar_tensor(loss, at::kFloat));
    const UpdatePart part{at::ones({3}), at::zeros({3}), at::zeros({3}), 0};
    part.parameter.mutable_grad() = at::ones({3});
    TorchUpdate update{OptimizerKind::adamw, 0.1, 0};
    update.skip = mark.read();
    update_by_torch({part}, update);
    return !part.parameter.equal(at::ones({3}));
  };
  CHECK(updated(1.5));
  CHECK(updated(-3e38));
  CHECK(!updated(std::numeric_limits<double>::infinity()));
  CHECK(!updated(1.5));  // it stays set: the next step changes nothing either
  SpoiltMark other;
  other.note(at::scalar_tensor(std::numeric_limits<double>::quiet_NaN(), at::kDouble));
  CHECK(other.read().item<double>() == 1);
}

TEST_CASE("what is on its device already stays where it is") {
  Model model;
  at::Tensor handle = at::ones({3});
  handle.requires_grad_();
  model.parameters = {{"p", handle}};
  const void* const before = handle.const_data_ptr();
  move_model(model, at::kCPU);
  CHECK(handle.const_data_ptr() == before);
  CHECK(bring(handle, at::kCPU).is_same(handle));
}

TEST_CASE("neighbours in one memory are neighbours where they are moved to") {
  const at::Tensor all = at::zeros({6, 2}), alone = at::ones({4});
  MovedMemories moved;
  const at::Tensor first = moved_to(at::kMeta, all.narrow(0, 0, 2), moved);
  const at::Tensor third = moved_to(at::kMeta, all.narrow(0, 4, 2), moved);
  CHECK(first.is_meta());
  CHECK(third.is_alias_of(first));
  CHECK(third.storage_offset() == 8);
  CHECK((third.sizes() == at::IntArrayRef({2, 2})));
  CHECK(!moved_to(at::kMeta, alone, moved).is_alias_of(first));
  // The moved tensors have the values.
  MovedMemories copies;
  all.narrow(0, 2, 2).fill_(3);
  CHECK(moved_to(at::kCPU, all.narrow(0, 2, 2), copies).equal(all.narrow(0, 2, 2)));
}

TEST_CASE("automatic kernels for GPUs are those that support the model's size") {
  Settings settings;
  settings.task = "bert_squad";
  settings.device = DeviceChoice::cuda;
  settings.own<SquadSettings>().model = "tiny";
  settings.own<SquadSettings>().vocab = std::string(HPCBENCH_SOURCE_DIR) + "/data/bert-base-uncased-vocab.txt";
  CHECK(make_task(settings)->choose_kernels() == KernelChoice::own);
  const TemporaryFolder folder;
  BertConfig config = bert_config_of_size("tiny");
  const auto chosen = [&] {
    write_bert_config(folder / "config.json", config, "float32");
    settings.own<SquadSettings>().model = folder.path().string();
    return make_task(settings)->choose_kernels();
  };
  config.hidden_size = 1024;
  CHECK(chosen() == KernelChoice::own);
  config.hidden_size = 1032;
  CHECK(chosen() == KernelChoice::torch);
  config.hidden_size = 100;
  CHECK(chosen() == KernelChoice::torch);
  config.hidden_size = 128;
  config.intermediate_size = 508;
  CHECK(chosen() == KernelChoice::torch);
  settings.kernels = KernelChoice::own;  // chosen: refused when the model is made
  CHECK(chosen() == KernelChoice::own);
}

TEST_CASE("a whole training with LibTorch's operators is that with our own kernels") {
  const TemporaryFolder own, torch;
  const std::vector<std::string> options = {"--precision", "fp64", "--max-steps", "30",
                                            "--log-every", "1",    "--optimizer", "adamw"};
  const auto with = [&](const char* kernels) {
    std::vector<std::string> all = options;
    all.insert(all.end(), {"--kernels", kernels});
    return all;
  };
  REQUIRE(train_with(own, with("own")).exit_code == 0);
  REQUIRE(train_with(torch, with("torch")).exit_code == 0);
  CHECK(events_in(own / "events.jsonl", "run_start").front().at("kernels") == "own");
  CHECK(events_in(torch / "events.jsonl", "run_start").front().at("kernels") == "torch");
  for (const char* name : {"step", "eval"}) {
    const std::vector<SeamJson> a = events_in(own / "events.jsonl", name), b = events_in(torch / "events.jsonl", name);
    REQUIRE(a.size() == b.size());
    REQUIRE(!a.empty());
    const char* const field = std::string(name) == "step" ? "loss" : "val_loss";
    for (std::size_t index = 0; index < a.size(); ++index)
      CHECK(b[index].at(field).get<double>() == doctest::Approx(a[index].at(field).get<double>()).epsilon(1e-9));
  }
}

TEST_CASE("a GPU that is not there: exit code 2, the remedy, and no run") {
#ifdef USE_C10D_NCCL
  if (!find_machine(process_environment).gpus.empty()) return;
#endif
  const TemporaryFolder folder;
  const Ended ended = train_with(folder, {"--device", "cuda", "--max-steps", "1"});
  CHECK(ended.exit_code == 2);
  CHECK(ended.err.rfind("error: device cuda: ", 0) == 0);
  CHECK(ended.err.find("choose `device: cpu`") != std::string::npos);
  CHECK(ended.out.empty());
  CHECK(events_in(folder / "events.jsonl", "run_start").empty());
  CHECK(train_with(folder, {"--tf32", "--device", "cpu"}).err.find("error: tf32 is a mode of GPUs") == 0);
  CHECK(train_with(folder, {"--device", "gpu"}).err.find("one of auto, cpu, cuda") != std::string::npos);
}

TEST_CASE("run_start has the device and the relevant environment") {
  const TemporaryFolder folder;
  const Ended ended = train_with(folder, {"--device", "cpu", "--max-steps", "1", "--eval", "false"},
                                 {{"NCCL_DEBUG", "WARN"},
                                  {"ONEDNN_MAX_CPU_ISA", "AVX2"},
                                  {"ATEN_CPU_CAPABILITY", "default"},
                                  {"TORCH_NCCL_BLOCKING_WAIT", "0"},
                                  {"CUDA_VISIBLE_DEVICES", "1,0"}});
  INFO(ended.err);
  REQUIRE(ended.exit_code == 0);
  const SeamJson start = events_in(folder / "events.jsonl", "run_start").front();
  CHECK(start.at("device") == "cpu");
  CHECK(start.at("kernels") == "own");
  CHECK(!start.contains("gpu_model"));
  CHECK(!start.contains("tf32"));
  CHECK(start.at("cpu_capability") == "DEFAULT");
  const std::string architecture = start.value("cpu_bf16", "another processor");
  CHECK((architecture == "amx" || architecture == "avx512_bf16" || architecture == "none" ||
         architecture == "another processor"));
  const SeamJson wanted = {{"ATEN_CPU_CAPABILITY", "default"}, {"ONEDNN_MAX_CPU_ISA", "AVX2"},
                           {"CUDA_VISIBLE_DEVICES", "1,0"},    {"NCCL_DEBUG", "WARN"},
                           {"OMP_NUM_THREADS", "1"},           {"TORCH_NCCL_BLOCKING_WAIT", "0"}};
  for (const auto& [name, value] : wanted.items()) CHECK(start.at("environment").at(name) == value);
}

TEST_CASE("the recorded environment: by prefix and name, sorted") {
  const char* const variables[] = {"PATH=/bin",
                                   "OMP_X=1",
                                   "GOMP_SPINCOUNT=9",
                                   "NCCL_A=b=c",
                                   "GLOO_SOCKET_IFNAME=",
                                   "CUDA_VISIBLE_DEVICESX=1",
                                   "CUDA_LAUNCH_BLOCKING=1",
                                   "PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync",
                                   "NVIDIA_TF32_OVERRIDE=0",
                                   "MKL_CBWR=COMPATIBLE",
                                   "ONEDNN_MAX_CPU_ISA=AVX2",
                                   "DNNL_VERBOSE=1",
                                   "ATEN_CPU_CAPABILITY=avx2",
                                   nullptr};
  const std::vector<std::pair<std::string, std::string>> wanted = {{"ATEN_CPU_CAPABILITY", "avx2"},
                                                                   {"CUDA_LAUNCH_BLOCKING", "1"},
                                                                   {"DNNL_VERBOSE", "1"},
                                                                   {"GLOO_SOCKET_IFNAME", ""},
                                                                   {"GOMP_SPINCOUNT", "9"},
                                                                   {"MKL_CBWR", "COMPATIBLE"},
                                                                   {"NCCL_A", "b=c"},
                                                                   {"NVIDIA_TF32_OVERRIDE", "0"},
                                                                   {"OMP_X", "1"},
                                                                   {"ONEDNN_MAX_CPU_ISA", "AVX2"},
                                                                   {"PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync"}};
  CHECK(recorded_environment(variables) == wanted);
}

TEST_CASE("memory of a GPU that is used up: the code out_of_memory") {
  const TemporaryFolder folder;
  Settings settings;
  settings.task = "mnist_rnn";
  settings.data = mnist_folder();
  settings.events = folder / "events.jsonl";
  settings.max_steps = 2;
  settings.bind = false;
  TrainingHooks hooks;
  hooks.after_backward = [](std::int64_t, Strategy&) {
    throw c10::OutOfMemoryError({__func__, __FILE__, 1}, "CUDA out of memory. Tried to allocate 2.00 GiB");
  };
  CHECK(run_training(settings, {}, hooks) == 1);
  const SeamJson error = events_in(folder / "events.jsonl", "error").front();
  CHECK(error.at("code") == "out_of_memory");
  CHECK(error.at("step") == 1);
}

}  // namespace hpcbench::train
