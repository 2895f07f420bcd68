#include "strategies/exchange.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "base/clock.hpp"
#include "strategies/host_exchange.hpp"

namespace hpcbench::train {

at::Tensor Exchange::chunk(const at::Tensor& flat, int rank) const {
  const std::int64_t size = flat.numel() / group_.size();
  return flat.narrow(0, rank * size, size);
}

void Exchange::send(Pending& pending, const at::Tensor& tensor, int rank, int tag) {
  std::vector<at::Tensor> tensors = {tensor};
  pending.works.push_back(group_.process_group()->send(tensors, rank, tag));
  traffic_.bytes_sent += bytes_of_elements(tensor);
}

void Exchange::receive(Pending& pending, const at::Tensor& tensor, int rank, int tag) {
  std::vector<at::Tensor> tensors = {tensor};
  pending.works.push_back(group_.process_group()->recv(tensors, rank, tag));
}

void Exchange::begin_collective(Pending& pending, SideStream* stream,
                                const std::function<c10::intrusive_ptr<c10d::Work>(bool is_async)>& start,
                                const at::Tensor& sent) {
  if (group_.size() == 1) return;
  traffic_.bytes_sent += (group_.size() - 1) * bytes_of_elements(sent);
  if (!stream) {
    note_begin();
    pending.works.push_back(start(true));
    return;
  }
  settle_spans();
  // In the side stream itself, not in one of NCCL's own: wait() makes the side stream wait, not the host.
  pending.span = stream->enqueue([&] {
    if (const auto work = start(false)) work->wait();
  });
}

/// Spans that have ended, into the sums.
void Exchange::settle_spans() {
  std::erase_if(spans_, [this](const std::shared_ptr<Span>& span) {
    const std::optional<SpanTimes> times = span->times();
    if (!times) return false;
    traffic_.exposed_s += std::min(times->exposed_s, times->total_s);
    traffic_.hidden_s += std::max(times->total_s - times->exposed_s, 0.0);
    return true;
  });
}

void Exchange::note_begin() {
  if (open_++ == 0) uncounted_since_s_ = monotonic_s();
}

void Exchange::wait(Pending& pending) {
  if (pending.span) {
    pending.span->hold_computing();
    spans_.push_back(pending.span);
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

Exchange::Pending Exchange::begin_sum(const at::Tensor& flat, int tag) {
  Pending pending;
  pending.flat = flat;
  if (by_collectives()) {
    const auto start = [&](bool is_async) {
      c10d::ReduceScatterOptions options;
      options.asyncOp = is_async;
      at::Tensor own = own_chunk(flat);
      at::Tensor whole = flat;
      return group_.process_group()->reduce_scatter_single(own, whole, options);
    };
    begin_collective(pending, sum_stream_.get(), start, own_chunk(flat));
    return pending;
  }
  const int ranks = group_.size();
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
    const int from = (group_.rank() + ranks - step) % ranks;
    const int place = from < group_.rank() ? from : from - 1;
    receive(pending, pending.received.narrow(0, place * size, size), from, tag);
  }
  for (int step = 1; step < ranks; ++step) {
    const int to = (group_.rank() + step) % ranks;
    send(pending, chunk(flat, to), to, tag);
  }
  return pending;
}

void Exchange::sum_directly(Pending& pending, const at::Tensor& own) {
  const double start_s = monotonic_s();
  const std::int64_t size = own.numel();
  // (((g0 + g1) + g2) + ...), whichever of them is this rank's.
  at::Tensor sum;
  for (int rank = 0; rank < group_.size(); ++rank) {
    const int place = rank < group_.rank() ? rank : rank - 1;
    const at::Tensor part = rank == group_.rank() ? own : pending.received.narrow(0, place * size, size);
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
      return group_.process_group()->all_gather_single(whole, own, options);
    };
    begin_collective(pending, gather_stream_.get(), start, own_chunk(flat));
    return pending;
  }
  const int ranks = group_.size();
  if (ranks == 1) return pending;
  note_begin();
  if (HostExchange* const host = group_.host_exchange()) {
    pending.works.push_back(host->gather(flat));
    traffic_.bytes_sent += (ranks - 1) * bytes_of_elements(own_chunk(flat));
    return pending;
  }
  for (int step = 1; step < ranks; ++step) {
    const int from = (group_.rank() + ranks - step) % ranks;
    receive(pending, chunk(flat, from), from, tag);
  }
  for (int step = 1; step < ranks; ++step) send(pending, own_chunk(flat), (group_.rank() + step) % ranks, tag);
  return pending;
}

void Exchange::finish_gather(Pending& pending) {
  wait(pending);
  pending = {};
}

}  // namespace hpcbench::train
