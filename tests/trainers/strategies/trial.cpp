#include "trainers/strategies/trial.hpp"

#include <ATen/Parallel.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <thread>

#include "strategies/group.hpp"
#include "tasks/task.hpp"
#include "trainers/ranks.hpp"
#include "trainers/strategies/trial_models.hpp"

namespace hpcbench::train {

namespace {

bool is_gauge(const std::string& name) {
  const auto ends_with = [&](const std::string& end) {
    return name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
  };
  return ends_with("key.bias") || ends_with("qa_outputs.bias") ||
         ends_with("layer." + std::to_string(kTrialBertLayers - 1) + ".output.LayerNorm.bias");
}

StrategyContext context_of(const Trial& trial, Group* group) {
  StrategyContext context;
  context.optimizer.kind = trial.optimizer;
  context.optimizer.momentum = trial.optimizer == OptimizerKind::sgd ? 0.9 : 0;
  context.optimizer.weight_decay = trial.weight_decay;
  context.optimizer.clip = trial.clip;
  context.settings.strategy = trial.strategy;
  context.settings.bucket_cap_mb = trial.bucket_cap_mb;
  context.settings.flavour = trial.flavour;
  context.settings.gradient_compression = trial.compression;
  context.settings.wrap = trial.wrap;
  context.settings.reshard_after_forward = trial.reshard_after_forward;
  context.settings.shard_size = trial.shard_size;
  if (trial.strategy == "dp") context.settings.devices = trial.ranks;
  context.group = group;
  if (group != nullptr) context.device = &group->device();
  return context;
}

std::vector<NamedTensor> copies(const std::vector<NamedTensor>& tensors) {
  std::vector<NamedTensor> copied;
  for (const NamedTensor& each : tensors) copied.push_back({each.name, each.tensor.detach().clone(), each.unit});
  return copied;
}

/// Returns the samples of one rank in a micro-batch: r, r + W, ... of the global batch.
std::vector<MicroBatch> batches_of(const Trial& trial, std::int64_t step, int rank, int ranks) {
  std::vector<MicroBatch> batches;
  for (std::int64_t micro = 0; micro < trial.micro_batches; ++micro) {
    const std::int64_t begin = (step * trial.micro_batches + micro) * trial.batch;
    const at::Tensor samples = at::arange(begin + rank, begin + trial.batch, ranks, at::kLong);
    batches.push_back({samples, {step + 1, micro * trial.batch + rank, ranks}, 1.0 / static_cast<double>(trial.micro_batches)});
  }
  return batches;
}

void count_parameters(const Model& model, RankResult& result) {
  for (const NamedTensor& parameter : model.parameters) result.parameters += parameter.tensor.numel();
}

/// Returns the maximum of tensor memory of this process, all ranks together, in addition to the present memory, while they
/// visit the state.
std::int64_t bytes_to(const std::function<void()>& look, Strategy& strategy, int rank) {
  strategy.barrier();
  const std::int64_t before = TensorMemory::unnamed_bytes();
  if (rank == 0) TensorMemory::forget_peak();
  strategy.barrier();
  look();
  strategy.barrier();
  const std::int64_t peak = TensorMemory::peak_unnamed_bytes();
  strategy.barrier();  // later memory of the others does not belong to this
  return peak - before;
}

std::int64_t bytes_to_visit(Strategy& strategy, int rank) {
  const auto visit = [&] {
    strategy.visit_state([](std::size_t, const NamedTensor&) {});
    strategy.visit_optimizer_state([](std::size_t, const NamedTensor&) {});
  };
  return bytes_to(visit, strategy, rank);
}

std::int64_t bytes_to_take_shard(Strategy& strategy, int rank) {
  return bytes_to([&] { strategy.own_shard(); }, strategy, rank);
}

std::optional<StateShard> copy_of_shard(Strategy& strategy) {
  std::optional<StateShard> shard = strategy.own_shard();
  if (!shard) return shard;
  for (std::vector<StatePiece>* pieces : {&shard->model, &shard->optimizer}) {
    for (StatePiece& piece : *pieces) piece.values = piece.values.clone();
  }
  return shard;
}

/// `group` null: one process, of a baseline or of dp's devices.
void run_rank(const Trial& trial, int rank, int ranks, SpoiltGroup* group, RankResult& result) {
  const std::unique_ptr<Task> task = make_trial_task(trial);
  task->load();
  count_parameters(task->model(), result);
  World world;
  world.rank = rank;
  world.size = ranks;
  const std::unique_ptr<Strategy> strategy = find_strategy(trial.strategy, world).make(context_of(trial, group));
  strategy->prepare(*task);
  if (group != nullptr) group->begin_training();
  if (trial.from) strategy->load_state(trial.from->model, trial.from->optimizer, trial.from->steps);
  for (std::int64_t step = strategy->optimizer_steps(); step < trial.steps; ++step) {
    const std::vector<double> losses = read_all(strategy->forward_backward(batches_of(trial, step, rank, ranks)));
    result.losses.insert(result.losses.end(), losses.begin(), losses.end());
    // ddp's results are its gradients themselves; its reducer divides if no exchange of ours is used.
    if (trial.strategy == "ddp" && trial.mutation == Mutation::skip_division_by_world_size) {
      for (const NamedTensor& gradient : strategy->gather_gradients()) gradient.tensor.mul_(ranks);
    }
    if (result.gradients.empty()) result.gradients = copies(strategy->gather_gradients());
    const auto norm = strategy->optimizer_step(learning_rate_of(trial));
    if (!result.norm && norm) result.norm = norm->read();
  }
  result.statistics = strategy->statistics();
  // Before the state is visited, which broadcasts buffers.
  result.shard_bytes = bytes_to_take_shard(*strategy, rank);
  result.shard = copy_of_shard(*strategy);
  result.visit_bytes = bytes_to_visit(*strategy, rank);
  result.kept = {copies(strategy->gather_full_state()), copies(strategy->gather_optimizer_state()),
                 strategy->optimizer_steps()};
}

bool is_one_process(const Trial& trial) { return trial.strategy == "baseline" || trial.strategy == "dp"; }

void run_rank_of_group(const Trial& trial, int rank, int port, RankResult& result) {
  at::set_num_threads(1);
  try {
    if (is_one_process(trial)) return run_rank(trial, 0, 1, nullptr, result);
    World world{rank, trial.ranks, rank, trial.ranks, "127.0.0.1", port, "here"};
    const Device& device = trial.devices.empty() ? cpu_device() : *trial.devices.at(static_cast<std::size_t>(rank));
    SpoiltGroup group(world, 30, trial.mutation, device);
    if (trial.collectives) group.choose_exchange_way(ExchangeWay::collectives);
    if (trial.shared_memory) group.choose_exchange_way(ExchangeWay::shared_memory);
    run_rank(trial, rank, trial.ranks, &group, result);
    group.finish();
  } catch (const c10::Error& error) {
    result.error = error.what_without_backtrace();
  } catch (const std::exception& error) {
    result.error = error.what();
  }
}

double distance(const at::Tensor& a, const at::Tensor& b) { return (a - b).norm().item<double>(); }

}  // namespace

double learning_rate_of(const Trial& trial) { return trial.optimizer == OptimizerKind::sgd ? 0.05 : 1e-3; }

std::vector<RankResult> run_trial(const Trial& trial, bool may_fail) {
  const int processes = is_one_process(trial) ? 1 : trial.ranks;
  std::vector<RankResult> results(static_cast<std::size_t>(processes));
  const int port = free_port();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < processes; ++rank)
    threads.emplace_back([&, rank] { run_rank_of_group(trial, rank, port, results[static_cast<std::size_t>(rank)]); });
  for (std::thread& thread : threads) thread.join();
  for (const RankResult& result : results) {
    if (!may_fail && !result.error.empty()) throw std::runtime_error(trial.strategy + ": " + result.error);
  }
  return results;
}

std::string bits_of(const RankResult& result) {
  std::string bits;
  for (const std::vector<NamedTensor>* tensors : {&result.kept.model, &result.kept.optimizer}) {
    for (const NamedTensor& each : *tensors) {
      const at::Tensor values = each.tensor.contiguous();
      bits.append(static_cast<const char*>(values.const_data_ptr()),
                  static_cast<std::size_t>(values.numel()) * values.element_size());
    }
  }
  return bits;
}

double worst_state(const RankResult& result, const RankResult& reference, const Trial& trial, double tolerance) {
  double worst = 0;
  REQUIRE(result.kept.model.size() == reference.kept.model.size());
  for (std::size_t index = 0; index < reference.kept.model.size(); ++index) {
    const std::string& name = reference.kept.model[index].name;
    const at::Tensor& b = reference.kept.model[index].tensor;
    const at::Tensor& a = result.kept.model[index].tensor;
    REQUIRE(result.kept.model[index].name == name);
    const double ratio =
        is_gauge(name) ? (a - b).abs().max().item<double>() / (2 * learning_rate_of(trial) * static_cast<double>(trial.steps))
                       : relative_difference(a, b) / tolerance;
    worst = std::max(worst, std::isfinite(ratio) ? ratio : INFINITY);
  }
  return worst;
}

double worst_gradient(const RankResult& result, const RankResult& reference, double tolerance) {
  double largest = 0;
  for (const NamedTensor& each : reference.gradients) largest = std::max(largest, each.tensor.norm().item<double>());
  double worst = 0;
  for (std::size_t index = 0; index < reference.gradients.size(); ++index) {
    const std::string& name = reference.gradients[index].name;
    const at::Tensor& b = reference.gradients[index].tensor;
    const at::Tensor& a = result.gradients.at(index).tensor;
    const double ratio = is_gauge(name) ? distance(a, b) / largest / tolerance : relative_difference(a, b) / tolerance;
    worst = std::max(worst, std::isfinite(ratio) ? ratio : INFINITY);
  }
  return worst;
}

}  // namespace hpcbench::train
