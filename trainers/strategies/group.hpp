#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <vector>

#include "base/world.hpp"
#include "devices/device.hpp"

namespace hpcbench::train {

class DeviceClock;
class Exchange;
class HostExchange;
class Ledger;
struct Traffic;

/// How flat tensors are exchanged: each rank sends to each other one directly (Gloo), by the backend's own collectives, or
/// through memory that the ranks of one host share.
enum class ExchangeWay { direct, collectives, shared_memory };

/// Ranks that exchange tensors among themselves, and this one's number there.
struct Communicator {
  int rank = 0;
  int size = 1;
  c10::intrusive_ptr<c10d::ProcessGroup> process_group;
};

/// The ranks of a run: where they meet (a TCPStore in rank 0), how they exchange tensors (Gloo; on GPUs NCCL), and how the
/// failure of one reaches all. A rank that fails writes why into the store; a thread of every other rank looks there five times
/// a second, so that also a rank that waits in a collective ends at once, with the root cause.
class Group {
 public:
  /// Called in that thread with the root cause, at most once; it should end the process.
  using PeerFailed = std::function<void(const std::string& root_cause)>;

  /// Opens the store. Throws when rank 0 is not there within `timeout_s`, and says what to do; InputError where another process
  /// there has the same rank, or another world size. `device` must outlive the group.
  Group(const World& world, double timeout_s, PeerFailed peer_failed, const Device& device = cpu_device());
  virtual ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// Returns when all ranks have called it with this `phase`; PeerError with the root cause when one failed before, Terminated
  /// on SIGTERM, std::runtime_error naming the ranks that did not come within the timeout.
  void agree(const std::string& phase);
  /// InputError, the same on all ranks, where two have the same GPU of one host, or only some have one (empty: a CPU): NCCL
  /// would hang. Collective, before connect().
  void refuse_shared_gpus(const std::string& uuid);
  /// Connects the ranks, and proves it by a one-element allreduce for each backend. Collective, once, before what follows.
  /// InputError where they are to share memory and are not on one host.
  void connect();
  /// Called in a thread of its own, with what was waited for, when connect() has not connected the device's backend within the
  /// timeout: NCCL has none of its own there. It should end the process.
  void when_late(std::function<void(const std::string& what)> late) { late_ = std::move(late); }
  /// What all ranks gave, in the order of the ranks. Collective.
  std::vector<std::string> exchange(const std::string& value);
  const c10::intrusive_ptr<c10d::ProcessGroup>& process_group() const { return all_.process_group; }
  /// Before connect(): flat tensors are cut up among so many consecutive ranks, which divide all evenly, and not among all
  /// (hybrid sharding; Zhao et al. 2023, 3.2.2).
  void shard_among(int ranks) { shard_size_ = ranks; }
  /// Among which a flat tensor is cut up, this rank one of them: all, unless shard_among() said fewer.
  const Communicator& shards() const { return shards_; }
  /// Those that hold the same chunks as this rank; of size 1 where shards() are all.
  const Communicator& replicas() const { return replicas_; }
  const Device& device() const { return device_; }
  /// On GPUs collectives. On CPUs direct, as Gloo's reduce-scatter sends twice what is needed, unless another one was chosen,
  /// before connect().
  ExchangeWay exchange_way() const { return exchange_way_; }
  void choose_exchange_way(ExchangeWay way) { exchange_way_ = way; }
  /// What carries gradients and parameters in place of the process group; null where that does.
  HostExchange* host_exchange() const { return host_exchange_.get(); }
  int rank() const { return world_.rank; }
  int size() const { return world_.size; }

  /// How strategies exchange flat tensors; all three outlive it. Tests have one that goes wrong (tests/trainers/strategies).
  virtual std::unique_ptr<Exchange> make_exchange(Traffic& traffic, Ledger& ledger, DeviceClock& clock);
  virtual void broadcast_from_first(const std::vector<at::Tensor>& tensors);
  void sum(at::Tensor tensor);
  void sum_over_shards(at::Tensor tensor);
  /// Numbers of the host; the device has then done what was enqueued before.
  void sum(std::vector<double>& values);
  void barrier();
  /// Strategy::any_rank(), by tensors of the host.
  bool any_rank(bool own);

  /// Tells the others why this rank ends and returns the root cause: `cause`, or that of the rank that failed first. Where
  /// `cause` looks like the end of another rank, waits some seconds for that rank's own words while the others answer a
  /// roll call, and else says which ranks are silent. Rank 0 keeps the store open until the others have read it.
  std::string report_failure(const std::string& cause);
  /// False when the other thread is already reporting; then this one should just wait for the end of the process.
  bool claim_report() { return !reported_.exchange(true); }
  /// The end of a good run: rank 0 leaves last, because the store is its own.
  void finish();

 private:
  void join();
  void watch();
  void share_memory();
  Communicator connect_some(const std::string& name, int rank, int size);
  void tell_of_peer(const std::string& cause);
  void stop_watching();
  void wait_for_readers(c10d::Store& store);
  std::string silent_ranks(const std::string& cause);
  std::string silent_store(const std::string& cause) const;
  std::string tell_store(const std::string& cause);
  bool has(c10d::Store& store, const std::string& key) const;
  void put(c10d::Store& store, const std::string& key, const std::string& value) const;

  World world_;
  std::chrono::milliseconds timeout_;
  PeerFailed peer_failed_;
  std::function<void(const std::string& what)> late_;
  const Device& device_;
  ExchangeWay exchange_way_;
  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<c10d::Store> watch_store_;
  int shard_size_ = 0;  // 0: all
  Communicator all_, shards_, replicas_;
  std::unique_ptr<HostExchange> host_exchange_;
  std::int64_t exchanges_ = 0;
  at::Tensor asked_;  // of any_rank(): above 0 where a rank said yes, once asking_ has ended
  c10::intrusive_ptr<c10d::Work> asking_;
  std::atomic<bool> reported_ = false;
  std::mutex mutex_;
  std::condition_variable stop_signal_;
  bool stop_ = false;
  std::thread watcher_;
};

}  // namespace hpcbench::train
