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

/// Ranks that exchange tensors among themselves, and this rank's number there.
struct Communicator {
  int rank = 0;
  int size = 1;
  c10::intrusive_ptr<c10d::ProcessGroup> process_group;
};

/// The ranks of a run: how they meet (a TCPStore in rank 0), how they exchange tensors (Gloo; on GPUs NCCL), and how a failure
/// reaches all. A rank that fails writes the cause into the store; a thread of every other rank checks it five times a second,
/// so that even a rank that waits in a collective ends at once, with the root cause.
class Group {
 public:
  /// Called in that thread with the root cause, at most once; it should end the process.
  using PeerFailed = std::function<void(const std::string& root_cause)>;

  /// Opens the store. Throws with advice if rank 0 does not appear within `timeout_s`; InputError if another process has the
  /// same rank there, or another world size. `device` must outlive the group.
  Group(const World& world, double timeout_s, PeerFailed peer_failed, const Device& device = cpu_device());
  virtual ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// Returns when all ranks have called it with this `phase`; PeerError with the root cause if one failed before, Terminated on
  /// SIGTERM, std::runtime_error naming the ranks that did not arrive within the timeout.
  void agree(const std::string& phase);
  /// InputError, the same on all ranks, if two have the same GPU of one host, or only some have one (empty: a CPU): NCCL would
  /// hang. Collective, before connect().
  void refuse_shared_gpus(const std::string& uuid);
  /// Connects the ranks, and tests each backend by a one-element allreduce. Collective, once, before the following functions.
  /// InputError if they should share memory but are not on one host.
  void connect();
  /// Sets a function that is called in its own thread, with the name of the wait, if connect() has not connected the device's
  /// backend within the timeout: NCCL has no timeout of its own there. It should end the process.
  void when_late(std::function<void(const std::string& what)> late) { late_ = std::move(late); }
  /// Returns the values of all ranks, in the order of the ranks. Collective.
  std::vector<std::string> exchange(const std::string& value);
  const c10::intrusive_ptr<c10d::ProcessGroup>& process_group() const { return all_.process_group; }
  /// Before connect(): cuts flat tensors among this many consecutive ranks, a divisor of their number, instead of all (hybrid
  /// sharding; Zhao et al. 2023, 3.2.2).
  void shard_among(int ranks) { shard_size_ = ranks; }
  /// Returns the ranks, including this one, among which a flat tensor is cut: all, unless shard_among() set fewer.
  const Communicator& shards() const { return shards_; }
  /// Returns the ranks that hold the same chunks as this one; of size 1 if shards() are all ranks.
  const Communicator& replicas() const { return replicas_; }
  const Device& device() const { return device_; }
  /// Returns collectives on GPUs. On CPUs direct, because Gloo's reduce-scatter sends twice the minimum, unless another way was
  /// chosen before connect().
  ExchangeWay exchange_way() const { return exchange_way_; }
  void choose_exchange_way(ExchangeWay way) { exchange_way_ = way; }
  /// Returns what carries gradients and parameters instead of the process group; null if the group does.
  HostExchange* host_exchange() const { return host_exchange_.get(); }
  int rank() const { return world_.rank; }
  int size() const { return world_.size; }

  /// Returns the exchange of flat tensors for strategies; all three arguments outlive it. Tests have a faulty one
  /// (tests/trainers/strategies).
  virtual std::unique_ptr<Exchange> make_exchange(Traffic& traffic, Ledger& ledger, DeviceClock& clock);
  virtual void broadcast_from_first(const std::vector<at::Tensor>& tensors);
  void sum(at::Tensor tensor);
  void sum_over_shards(at::Tensor tensor);
  /// Sums numbers of the host; the device has then finished everything enqueued before.
  void sum(std::vector<double>& values);
  void barrier();
  /// Implements Strategy::any_rank() by tensors of the host.
  bool any_rank(bool own);

  /// Tells the others why this rank ends and returns the root cause: `cause`, or that of the rank that failed first. If `cause`
  /// looks like the end of another rank, waits some seconds for that rank's own message while the others answer a roll call,
  /// and otherwise names the silent ranks. Rank 0 keeps the store open until the others have read it.
  std::string report_failure(const std::string& cause);
  /// Returns false if the other thread is already reporting; the caller should then only wait for the end of the process.
  bool claim_report() { return !reported_.exchange(true); }
  /// Ends a good run: rank 0 leaves last, because it owns the store.
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
  at::Tensor asked_;  // of any_rank(): above 0 if a rank passed true, once asking_ has ended
  c10::intrusive_ptr<c10d::Work> asking_;
  std::atomic<bool> reported_ = false;
  std::mutex mutex_;
  std::condition_variable stop_signal_;
  bool stop_ = false;
  std::thread watcher_;
};

}  // namespace hpcbench::train
