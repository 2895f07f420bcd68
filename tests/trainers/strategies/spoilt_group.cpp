#include "trainers/strategies/spoilt_group.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/roll.h>

#include <cstdint>

namespace hpcbench::train {

namespace {

class SpoiltExchange : public Exchange {
 public:
  SpoiltExchange(Group& group, Traffic& traffic, Ledger& ledger, Mutation mutation)
      : Exchange(group, traffic, ledger), last_rank_(group.rank() == group.size() - 1), mutation_(mutation) {}

  Pending begin_sum(const at::Tensor& flat, int tag) override {
    skips_ = mutation_ == Mutation::skip_unit && tag == 0;
    if (!skips_) return Exchange::begin_sum(flat, tag);
    Pending pending;
    pending.flat = flat;
    return pending;
  }

  void finish_sum(Pending& pending, double factor) override {
    at::Tensor own = own_chunk(pending.flat);
    if (skips_) {
      pending = {};
    } else {
      Exchange::finish_sum(pending, mutation_ == Mutation::skip_division_by_world_size ? 1 : factor);
    }
    if (last_rank_ && mutation_ == Mutation::shift_shard) own.copy_(at::roll(own, 1));
    if (last_rank_ && mutation_ == Mutation::forget_padding) forget_last(own);
  }

  Pending begin_gather(const at::Tensor& flat, int tag) override {
    if (mutation_ == Mutation::stale_gather) make_stale(flat);
    return Exchange::begin_gather(flat, tag);
  }

 private:
  /// Padding is zero; what stands before it is not.
  static void forget_last(const at::Tensor& own) {
    const at::Tensor places = at::nonzero(own);
    if (places.numel() > 0) own.narrow(0, places[-1].item<std::int64_t>(), 1).zero_();
  }

  /// What was gathered before is gathered as it was then. The tensors are held, so that none has the place of another.
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
  bool last_rank_;
  Mutation mutation_;
  bool skips_ = false;
  std::vector<Gathered> gathered_;
};

}  // namespace

std::unique_ptr<Exchange> SpoiltGroup::make_exchange(Traffic& traffic, Ledger& ledger) {
  return std::make_unique<SpoiltExchange>(*this, traffic, ledger, mutation_);
}

void SpoiltGroup::broadcast_from_first(const std::vector<at::Tensor>& tensors) {
  if (!training_ || mutation_ != Mutation::skip_buffer_broadcast) Group::broadcast_from_first(tensors);
}

}  // namespace hpcbench::train
