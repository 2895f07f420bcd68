#include "strategies/exchange.hpp"

#include <ATen/ops/empty.h>

#include "core/clock.hpp"

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

void Exchange::wait(Pending& pending) {
  const double now_s = monotonic_s();
  if (!pending.works.empty()) traffic_.hidden_s += now_s - pending.begun_s;
  for (const auto& work : pending.works) work->wait();
  if (!pending.works.empty()) traffic_.exposed_s += monotonic_s() - now_s;
  pending.works.clear();
}

Exchange::Pending Exchange::begin_sum(const at::Tensor& flat, int tag) {
  Pending pending;
  pending.flat = flat;
  pending.begun_s = monotonic_s();
  const int ranks = group_.size();
  if (ranks == 1) return pending;
  const std::int64_t size = flat.numel() / ranks;
  pending.received = at::empty({(ranks - 1) * size}, flat.options());
  ledger_.add(Held::communication, bytes_of_elements(pending.received));
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

void Exchange::finish_sum(Pending& pending, double factor) {
  wait(pending);
  const int ranks = group_.size();
  at::Tensor own = own_chunk(pending.flat);
  if (ranks > 1) {
    const double start_s = monotonic_s();
    const std::int64_t size = own.numel();
    // (((g0 + g1) + g2) + ...), whichever of them is this rank's.
    at::Tensor sum;
    for (int rank = 0; rank < ranks; ++rank) {
      const int place = rank < group_.rank() ? rank : rank - 1;
      const at::Tensor part = rank == group_.rank() ? own : pending.received.narrow(0, place * size, size);
      if (!sum.defined()) {
        sum = part;
      } else {
        sum.add_(part);
      }
    }
    if (!sum.is_same(own)) own.copy_(sum);
    ledger_.remove(Held::communication, bytes_of_elements(pending.received));
    traffic_.exposed_s += monotonic_s() - start_s;
  }
  if (factor != 1) own.mul_(factor);
  pending = {};
}

Exchange::Pending Exchange::begin_gather(const at::Tensor& flat, int tag) {
  Pending pending;
  pending.flat = flat;
  pending.begun_s = monotonic_s();
  const int ranks = group_.size();
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
