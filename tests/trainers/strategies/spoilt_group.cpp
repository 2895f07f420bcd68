#include "trainers/strategies/spoilt_group.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/roll.h>

#include <cstdint>

namespace hpcbench::train {

namespace {

class SpoiltExchange : public Exchange {
 public:
  SpoiltExchange(Group& group, Traffic& traffic, Ledger& ledger, DeviceClock& clock, Mutation mutation)
      : Exchange(group, traffic, ledger, clock),
        group_(group),
        last_rank_(group.rank() == group.size() - 1),
        mutation_(mutation) {}

  Pending begin_sum(const at::Tensor& flat, int tag) override {
    skips_ = mutation_ == Mutation::skip_unit && tag == 0;
    Pending pending;
    if (skips_) {
      pending.flat = flat;
    } else if (mutation_ == Mutation::free_summed) {
      pending = Exchange::begin_sum(flat.clone(), tag);
      pending.flat = flat;
    } else {
      pending = Exchange::begin_sum(flat, tag);
    }
    if (mutation_ == Mutation::change_summed) add_to_others(flat);
    return pending;
  }

  void finish_sum(Pending& pending, double factor) override {
    at::Tensor own = own_chunk(pending.flat);
    if (skips_) {
      pending = {};
    } else if (mutation_ == Mutation::use_sum_early) {
      const at::NoGradGuard no_grad;
      own.mul_(factor);
      Exchange::finish_sum(pending, 1);
    } else {
      Exchange::finish_sum(pending, mutation_ == Mutation::skip_division_by_world_size ? 1 : factor);
    }
    if (last_rank_ && mutation_ == Mutation::shift_shard) own.copy_(at::roll(own, 1));
    if (last_rank_ && mutation_ == Mutation::forget_padding) forget_last(own);
  }

  Pending begin_gather(const at::Tensor& flat, int tag) override {
    if (mutation_ == Mutation::stale_gather) make_stale(flat);
    if (mutation_ == Mutation::differ_between_ranks && last_rank_) group_.sum(at::ones({1}));
    Pending pending = Exchange::begin_gather(flat, tag);
    const at::NoGradGuard no_grad;
    if (mutation_ == Mutation::change_gathered) own_chunk(flat).add_(1);
    if (mutation_ == Mutation::write_into_gathered) add_to_others(flat);
    if (mutation_ == Mutation::give_back_gathered) {
      const at::Tensor values = flat.clone();
      const auto bytes = static_cast<std::int64_t>(flat.storage().nbytes());
      group_.device().resize(flat, 0);
      group_.device().resize(flat, bytes);
      at::Tensor(flat).copy_(values);
      own_chunk(flat).add_(1);
    }
    return pending;
  }

 private:
  /// Padding is zero; elements before it are not.
  static void forget_last(const at::Tensor& own) {
    const at::Tensor places = at::nonzero(own);
    if (places.numel() > 0) own.narrow(0, places[-1].item<std::int64_t>(), 1).zero_();
  }

  /// To all but this rank's own chunk.
  void add_to_others(const at::Tensor& flat) const {
    const at::NoGradGuard no_grad;
    const at::Tensor own = own_chunk(flat).clone();
    at::Tensor(flat).add_(1);
    own_chunk(flat).copy_(own);
  }

  /// Gathers the earlier values. The tensors are held, so that none gets the place of another.
  void make_stale(const at::Tensor& flat) {
    const at::NoGradGuard no_grad;
    for (const Gathered& before : gathered_) {
      if (before.flat.is_same(flat)) own_chunk(flat).copy_(before.own);
      if (before.flat.is_same(flat)) return;
    }
    gathered_.push_back({flat, own_chunk(flat).clone()});
  }

  struct Gathered {
    at::Tensor flat, own;
  };
  Group& group_;
  bool last_rank_;
  Mutation mutation_;
  bool skips_ = false;
  std::vector<Gathered> gathered_;
};

}  // namespace

std::unique_ptr<Exchange> SpoiltGroup::make_exchange(Traffic& traffic, Ledger& ledger, DeviceClock& clock) {
  return std::make_unique<SpoiltExchange>(*this, traffic, ledger, clock, mutation_);
}

void SpoiltGroup::broadcast_from_first(const std::vector<at::Tensor>& tensors) {
  if (!training_ || mutation_ != Mutation::skip_buffer_broadcast) Group::broadcast_from_first(tensors);
}

}  // namespace hpcbench::train
