#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "strategies/strategy.hpp"
#include "trainers/strategies/spoilt_group.hpp"
#include "trainers/torch_doctest.hpp"

namespace hpcbench::train {

/// The results of a run, as checkpoints hold them.
struct Kept {
  std::vector<NamedTensor> model;
  std::vector<NamedTensor> optimizer;
  std::int64_t steps = 0;
};

/// A training in fp64 (unless `single`) on fixed global batches, which are the same for any number of ranks.
struct Trial {
  std::string strategy = "baseline";
  int ranks = 1;                    // threads of this process, each with its own model; for dp: devices
  std::string model = "mnist_rnn";  // mnist_rnn, mnist_rnn_batch_norm, bert, bert_wide, chain, unused
  OptimizerKind optimizer = OptimizerKind::sgd;
  double weight_decay = 0;
  double clip = 0;
  bool dropout = false;
  std::int64_t micro_batches = 1;
  std::int64_t steps = 20;
  std::int64_t batch = 12;  // samples of a micro-batch over all ranks
  bool single = false;
  bool bf16 = false;  // with `single`, of the chain and BERT: products in bfloat16
  double bucket_cap_mb = 0.0625;
  Flavour flavour = Flavour::tuned;
  FsdpWrap wrap = FsdpWrap::layers;
  bool reshard_after_forward = true;
  std::optional<int> shard_size = {};
  bool collectives = false;  // zero, fsdp: by reduce-scatter and all-gather of the backend, as on GPUs
  std::optional<GradientCompression> compression = {};
  bool shared_memory = false;  // exchanged through memory of the host, not Gloo
  Mutation mutation = Mutation::none;
  std::optional<Kept> from;                 // continues from there, to `steps`
  std::vector<const Device*> devices = {};  // one for each rank; none: CPUs
};

double learning_rate_of(const Trial& trial);

struct RankResult {
  std::vector<NamedTensor> gradients;  // averaged, of the first step
  std::optional<double> norm;          // of the first step, if it is clipped
  Kept kept;
  std::vector<double> losses;       // this rank's, all micro-batches
  std::int64_t visit_bytes = 0;     // of the first rank: the maximum held by all while they visited the state and kept nothing
  std::optional<StateShard> shard;  // a copy
  std::int64_t shard_bytes = 0;     // of the first rank: the maximum held by all while they took their shards
  StrategyStatistics statistics;
  std::int64_t parameters = 0;  // elements
  std::string error;
};

/// Returns every rank's result; throws if a rank ended with an error that `may_fail` does not allow.
std::vector<RankResult> run_trial(const Trial& trial, bool may_fail = false);

/// Returns the bytes of all state, to be compared bit for bit.
std::string bits_of(const RankResult& result);

/// Largest ||a - b|| / (tolerance ||b||) over the tensors, those that are gauge parameters by their own rule: at most
/// 2 lr steps apart, gradients at most `tolerance` of the largest. 1 or less passes.
double worst_state(const RankResult& result, const RankResult& reference, const Trial& trial, double tolerance = 1e-12);
double worst_gradient(const RankResult& result, const RankResult& reference, double tolerance = 1e-12);

}  // namespace hpcbench::train
