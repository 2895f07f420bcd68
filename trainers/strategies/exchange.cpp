#include "strategies/exchange.hpp"

#include <ATen/ops/empty.h>

#include "base/clock.hpp"
#include "strategies/host_exchange.hpp"

namespace hpcbench::train {

namespace {

// Uses the names of LibTorch 2.13, or in 2.11 and 2.12 the older ones. Templates: a branch that is not taken need not compile.
template <class ProcessGroup>
auto reduce_scatter(ProcessGroup& group, at::Tensor& own, at::Tensor& whole, const c10d::ReduceScatterOptions& options) {
  if constexpr (requires { group.reduce_scatter_single(own, whole, options); }) {
    return group.reduce_scatter_single(own, whole, options);
  } else {
    return group._reduce_scatter_base(own, whole, options);
  }
}

template <class ProcessGroup>
auto all_gather(ProcessGroup& group, at::Tensor& whole, at::Tensor& own, const c10d::AllgatherOptions& options) {
  if constexpr (requires { group.all_gather_single(whole, own, options); }) {
    return group.all_gather_single(whole, own, options);
  } else {
    return group._allgather_base(whole, own, options);
  }
}

}  // namespace

at::Tensor Exchange::chunk(const at::Tensor& flat, int rank) const {
  const std::int64_t size = flat.numel() / group_.shards().size;
  return flat.narrow(0, rank * size, size);
}

void Exchange::send(Pending& pending, const at::Tensor& tensor, int rank, int tag) {
  std::vector<at::Tensor> tensors = {tensor};
  pending.works.push_back(group_.shards().process_group->send(tensors, rank, tag));
  traffic_.bytes_sent += bytes_of_elements(tensor);
}

void Exchange::receive(Pending& pending, const at::Tensor& tensor, int rank, int tag) {
  std::vector<at::Tensor> tensors = {tensor};
  pending.works.push_back(group_.shards().process_group->recv(tensors, rank, tag));
}

void Exchange::begin_collective(Pending& pending, SideStream* stream,
                                const std::function<c10::intrusive_ptr<c10d::Work>(bool is_async)>& start,
                                const at::Tensor& sent) {
  if (group_.size() == 1) return;
  traffic_.bytes_sent += (group_.shards().size - 1) * bytes_of_elements(sent);
  if (!stream) {
    note_begin();
    pending.works.push_back(start(true));
    return;
  }
  // In the side stream itself, not in one of NCCL's: wait() then blocks the side stream, not the host.
  pending.span = stream->enqueue([&] {
    if (const auto work = start(false)) work->wait();
  });
}

void Exchange::note_begin() {
  if (open_++ == 0) uncounted_since_s_ = monotonic_s();
}

void Exchange::wait(Pending& pending) {
  if (pending.span) {
    pending.span->hold_computing();
    clock_.add(pending.span, traffic_);
  }
  if (pending.works.empty()) return;
  const double now_s = monotonic_s();
  traffic_.hidden_s += now_s - uncounted_since_s_;
  for (const auto& work : pending.works) work->wait();
  uncounted_since_s_ = monotonic_s();
  traffic_.exposed_s += uncounted_since_s_ - now_s;
  pending.works.clear();
  --open_;
}

c10::intrusive_ptr<c10d::Work> Exchange::sum_over_replicas(const at::Tensor& own, bool is_async) {
  const Communicator& replicas = group_.replicas();
  // The minimum for an allreduce: a reduce-scatter and an all-gather.
  traffic_.bytes_sent += bytes_of_elements(own) * 2 * (replicas.size - 1) / replicas.size;
  c10d::AllreduceOptions options;
  options.asyncOp = is_async;
  std::vector<at::Tensor> tensors = {own};
  return replicas.process_group->allreduce(tensors, options);
}

Exchange::Pending Exchange::begin_sum(const at::Tensor& flat, int tag) {
  Pending pending;
  pending.flat = flat;
  if (by_collectives()) {
    const auto start = [&](bool is_async) {
      c10d::ReduceScatterOptions options;
      options.asyncOp = is_async;
      at::Tensor own = own_chunk(flat);
      at::Tensor whole = flat;
      auto work = reduce_scatter(*group_.shards().process_group, own, whole, options);
      if (is_async || group_.replicas().size == 1) return work;
      if (work) work->wait();
      return sum_over_replicas(own, is_async);
    };
    begin_collective(pending, sum_stream_.get(), start, own_chunk(flat));
    return pending;
  }
  const int ranks = group_.shards().size;
  if (ranks == 1) return pending;
  note_begin();
  const std::int64_t size = flat.numel() / ranks;
  if (HostExchange* const host = group_.host_exchange()) {
    pending.works.push_back(host->sum_own_chunk(flat));
    traffic_.bytes_sent += (ranks - 1) * bytes_of_elements(own_chunk(flat));
    return pending;
  }
  ledger_.add(Held::communication, (ranks - 1) * size * static_cast<std::int64_t>(flat.element_size()));
  pending.received = at::empty({(ranks - 1) * size}, flat.options());
  // Each begins with the next rank, so that not all send to one.
  for (int step = 1; step < ranks; ++step) {
    const int from = (group_.shards().rank + ranks - step) % ranks;
    const int place = from < group_.shards().rank ? from : from - 1;
    receive(pending, pending.received.narrow(0, place * size, size), from, tag);
  }
  for (int step = 1; step < ranks; ++step) {
    const int to = (group_.shards().rank + step) % ranks;
    send(pending, chunk(flat, to), to, tag);
  }
  return pending;
}

void Exchange::sum_directly(Pending& pending, const at::Tensor& own) {
  const double start_s = monotonic_s();
  const std::int64_t size = own.numel();
  // (((g0 + g1) + g2) + ...), whichever of them is this rank's.
  at::Tensor sum;
  for (int rank = 0; rank < group_.shards().size; ++rank) {
    const int place = rank < group_.shards().rank ? rank : rank - 1;
    const at::Tensor part = rank == group_.shards().rank ? own : pending.received.narrow(0, place * size, size);
    if (!sum.defined()) {
      sum = part;
    } else {
      sum.add_(part);
    }
  }
  if (!sum.is_same(own)) own.copy_(sum);
  sum.reset();
  const std::int64_t received_bytes = bytes_of_elements(pending.received);
  pending.received.reset();
  ledger_.remove(Held::communication, received_bytes);
  uncounted_since_s_ = monotonic_s();
  traffic_.exposed_s += uncounted_since_s_ - start_s;
}

void Exchange::finish_sum(Pending& pending, double factor) {
  wait(pending);
  at::Tensor own = own_chunk(pending.flat);
  if (pending.received.defined()) sum_directly(pending, own);
  if (!pending.span && group_.replicas().size > 1) {
    const double start_s = monotonic_s();
    sum_over_replicas(own, true)->wait();
    uncounted_since_s_ = monotonic_s();
    traffic_.exposed_s += uncounted_since_s_ - start_s;
  }
  if (factor != 1) own.mul_(factor);
  pending = {};
}

Exchange::Pending Exchange::begin_gather(const at::Tensor& flat, int tag) {
  Pending pending;
  pending.flat = flat;
  if (by_collectives()) {
    const auto start = [&](bool is_async) {
      c10d::AllgatherOptions options;
      options.asyncOp = is_async;
      at::Tensor own = own_chunk(flat);
      at::Tensor whole = flat;
      return all_gather(*group_.shards().process_group, whole, own, options);
    };
    begin_collective(pending, gather_stream_.get(), start, own_chunk(flat));
    return pending;
  }
  const int ranks = group_.shards().size;
  if (ranks == 1) return pending;
  note_begin();
  if (HostExchange* const host = group_.host_exchange()) {
    pending.works.push_back(host->gather(flat));
    traffic_.bytes_sent += (ranks - 1) * bytes_of_elements(own_chunk(flat));
    return pending;
  }
  for (int step = 1; step < ranks; ++step) {
    const int from = (group_.shards().rank + ranks - step) % ranks;
    receive(pending, chunk(flat, from), from, tag);
  }
  for (int step = 1; step < ranks; ++step) send(pending, own_chunk(flat), (group_.shards().rank + step) % ranks, tag);
  return pending;
}

void Exchange::finish_gather(Pending& pending) {
  wait(pending);
  pending = {};
}

}  // namespace hpcbench::train
