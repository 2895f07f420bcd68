#include "strategies/group.hpp"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/item.h>
#include <ATen/ops/ones.h>
#include <netdb.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <future>
#include <memory>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <torch/csrc/distributed/c10d/comm.hpp>

#include "base/clock.hpp"
#include "base/deadline.hpp"
#include "base/error.hpp"
#include "base/signals.hpp"
#include "base/text.hpp"
#include "strategies/exchange.hpp"
#include "strategies/host_exchange.hpp"

namespace hpcbench::train {

namespace {

using std::chrono::milliseconds;

constexpr const char* kFailureKey = "hpcbench/failure";
// A rank that finds another one unresponsive sets this key; every rank's watching thread then answers that it is alive,
// whatever its main thread waits for.
constexpr const char* kRollCallKey = "hpcbench/roll-call";
constexpr double kWordsOfPeerS = 3;
constexpr double kReadersS = 6;
constexpr double kSilentReadersS = 1;  // to wait for ranks that have not answered the roll call
constexpr double kLateRanksS = 30;     // for ranks that are still starting when rank 0 fails
constexpr double kStoreAnswersS = 3;

std::string rank_key(const std::string& what, int rank) { return concat("hpcbench/", what, "/", rank); }

std::string text_of(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }
std::vector<std::uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

/// Returns whether an error means that another rank ended or hangs, so that its cause is in that rank.
bool is_of_peer(const std::string& cause) {
  constexpr std::array kMarks = {"onnection", "Broken pipe", "Timed out", "timed out", "timing out",
                                 "Socket",    "socket",      "gloo",      "NCCL"};
  return std::any_of(kMarks.begin(), kMarks.end(), [&](const char* mark) { return cause.find(mark) != std::string::npos; });
}

using StorePointer = c10::intrusive_ptr<c10d::Store>;

/// Returns advice for ranks that cannot meet, with LibTorch's message.
std::string meeting_advice(const World& world, const std::string& reason) {
  if (reason.find("EADDRINUSE") != std::string::npos) {
    return concat("another program on ", world.host, " has the port ", world.master_port,
                  ": set MASTER_PORT to one that is free there, the same for all ranks");
  }
  addrinfo* found = nullptr;
  const int unknown = getaddrinfo(world.master_addr.c_str(), nullptr, nullptr, &found);
  if (unknown == 0) freeaddrinfo(found);
  if (unknown != 0) return concat("MASTER_ADDR is `", world.master_addr, "`, which is no host here: ", gai_strerror(unknown));
  return concat("rank 0 does not answer at ", world.master_addr, ":", world.master_port,
                ": MASTER_ADDR has to be its host, MASTER_PORT a port that is free there, the same for all ranks (", reason,
                ")");
}

/// In its own thread: if another program has the port, it waits forever for its answer.
StorePointer open_store(const World& world, milliseconds timeout) {
  if (world.size == 1) return c10::make_intrusive<c10d::HashStore>();
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(world.master_port);
  options.isServer = world.rank == 0;
  options.numWorkers = static_cast<std::size_t>(world.size);
  options.waitWorkers = false;  // agree() waits, and learns of failures meanwhile
  options.timeout = timeout;
  auto opened = std::make_shared<std::promise<StorePointer>>();
  std::future<StorePointer> store = opened->get_future();
  std::thread([address = world.master_addr, options, opened] {
    try {
      opened->set_value(c10::make_intrusive<c10d::TCPStore>(address, options));
    } catch (...) {
      opened->set_exception(std::current_exception());
    }
  }).detach();
  constexpr milliseconds kWordsOfStore(500);
  if (store.wait_for(timeout + kWordsOfStore) != std::future_status::ready)
    throw std::runtime_error(meeting_advice(world, concat("timed out after ", timeout.count(), " ms")));
  try {
    return store.get();
  } catch (const c10::Error& error) {
    throw std::runtime_error(meeting_advice(world, error.what_without_backtrace()));
  }
}

std::shared_ptr<::gloo::transport::Device> make_device(const World& world) {
  if (const char* name = std::getenv("GLOO_SOCKET_IFNAME"); name && *name)
    return c10d::ProcessGroupGloo::createDeviceForInterface(name);
  const bool local = world.size == 1 || world.master_addr == "localhost" || world.master_addr.rfind("127.", 0) == 0;
  return local ? c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1") : c10d::ProcessGroupGloo::createDefaultDevice();
}

void sum_over(const Communicator& ranks, at::Tensor tensor) {
  std::vector<at::Tensor> tensors = {std::move(tensor)};
  ranks.process_group->allreduce(tensors)->wait();
}

}  // namespace

Group::Group(const World& world, double timeout_s, PeerFailed peer_failed, const Device& device)
    : world_(world),
      timeout_(static_cast<std::int64_t>(timeout_s * 1000)),
      peer_failed_(std::move(peer_failed)),
      device_(device),
      exchange_way_(device.is_cuda() ? ExchangeWay::collectives : ExchangeWay::direct),
      store_(open_store(world, timeout_)) {
  if (world_.size == 1) return;
  join();
  watch_store_ = store_->clone();
  watcher_ = std::thread([this] { watch(); });
}

Group::~Group() { stop_watching(); }

/// Otherwise two trainings that meet at one port, for example of two steps of one job, would mix.
void Group::join() {
  const auto first = [&](const std::string& key, const std::string& own) {
    return text_of(store_->compareSet(key, {}, bytes_of(own)));
  };
  if (const std::string size = first("hpcbench/world-size", std::to_string(world_.size)); std::stoi(size) != world_.size) {
    throw InputError(concat("error: WORLD_SIZE is ", world_.size, " for rank ", world_.rank, ", but ", size, " for others at ",
                            world_.master_addr, ":", world_.master_port, ": each training needs a MASTER_PORT of its own"));
  }
  const std::string own = concat("process ", getpid(), " on ", world_.host);
  if (const std::string taken = first(rank_key("joined", world_.rank), own); taken != own) {
    throw InputError(concat("error: rank ", world_.rank, " is there already at ", world_.master_addr, ":", world_.master_port,
                            ", ", taken, ": each process needs a RANK of its own, each training a MASTER_PORT of its own"));
  }
}

bool Group::has(c10d::Store& store, const std::string& key) const { return store.check({key}); }

void Group::put(c10d::Store& store, const std::string& key, const std::string& value) const { store.set(key, bytes_of(value)); }

void Group::watch() {
  constexpr milliseconds kInterval(200);
  bool answered = false;
  std::unique_lock lock(mutex_);
  while (!stop_signal_.wait_for(lock, kInterval, [this] { return stop_; })) {
    lock.unlock();
    try {
      if (!answered && has(*watch_store_, kRollCallKey)) {
        put(*watch_store_, rank_key("alive", world_.rank), "1");
        answered = true;
      }
      if (has(*watch_store_, kFailureKey)) {
        // Read before the claim: the claimant must report, and the store may disappear at any moment.
        const std::string cause = text_of(watch_store_->get(kFailureKey));
        if (claim_report()) tell_of_peer(cause);
        return;
      }
    } catch (const std::exception&) {
      return;  // rank 0 is gone: the collectives report it, with more details
    }
    lock.lock();
  }
}

void Group::tell_of_peer(const std::string& cause) {
  try {
    put(*watch_store_, rank_key("read", world_.rank), "1");
    wait_for_readers(*watch_store_);
  } catch (const std::exception&) {  // rank 0 is gone, and no longer waits for readers
  }
  peer_failed_(cause);
}

void Group::stop_watching() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stop_signal_.notify_all();
  if (watcher_.joinable() && watcher_.get_id() != std::this_thread::get_id()) watcher_.join();
}

void Group::agree(const std::string& phase) {
  put(*store_, rank_key(phase, world_.rank), "1");
  const double end_s = monotonic_s() + std::chrono::duration<double>(timeout_).count();
  auto pause = milliseconds(1);
  for (int next = 0; next < world_.size;) {
    if (has(*store_, rank_key(phase, next))) {
      ++next;
      continue;
    }
    if (has(*store_, kFailureKey)) throw PeerError(text_of(store_->get(kFailureKey)));
    throw_if_terminated(concat("waiting for the other ranks (", phase, ")"));
    if (monotonic_s() > end_s)
      throw std::runtime_error(concat("Timed out waiting for rank ", next, " (", phase, ") for ", timeout_.count(), " ms"));
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, milliseconds(50));
  }
}

/// `name` keeps these ranks' keys in the store apart from others.
Communicator Group::connect_some(const std::string& name, int rank, int size) {
  const auto store = c10::make_intrusive<c10d::PrefixStore>(name, store_);
  auto options = c10d::ProcessGroupGloo::Options::create(timeout_);
  options->devices.push_back(make_device(world_));
  Communicator made{rank, size, c10::make_intrusive<c10d::ProcessGroup>(store, rank, size)};
  // Different prefixes keep Gloo's keys and the device's apart.
  const auto gloo =
      c10::make_intrusive<c10d::ProcessGroupGloo>(c10::make_intrusive<c10d::PrefixStore>("gloo", store), rank, size, options);
  made.process_group->setDefaultBackend(c10d::ProcessGroup::BackendType::GLOO);
  made.process_group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::BackendType::GLOO, gloo);
  sum_over(made, at::ones({1}));
  const Deadline deadline(timeout_, [this] {
    if (late_)
      late_(concat("NCCL has not connected the ranks after ", static_cast<double>(timeout_.count()) / 1000, " s: timed out"));
  });
  device_.connect(made.process_group, store, timeout_);
  return made;
}

void Group::connect() {
  all_ = connect_some("all", world_.rank, world_.size);
  shards_ = all_;
  if (shard_size_ > 0 && shard_size_ < world_.size) {
    const int replica = world_.rank / shard_size_;
    const int shard = world_.rank % shard_size_;
    shards_ = connect_some(concat("shards-of-replica-", replica), shard, shard_size_);
    replicas_ = connect_some(concat("replicas-of-shard-", shard), replica, world_.size / shard_size_);
  }
  if (exchange_way_ == ExchangeWay::shared_memory && world_.size > 1) share_memory();
}

void Group::share_memory() {
  // A name alone does not prove that it is the same machine.
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id") >> std::ws, boot);
  const std::vector<std::string> hosts = exchange(concat(world_.host, " ", boot));
  for (std::size_t rank = 1; rank < hosts.size(); ++rank) {
    if (hosts[rank] == hosts[0]) continue;
    throw SharedInputError(concat("error: exchange shared_memory needs all ranks on one host, but rank 0 is on ",
                                  hosts[0].substr(0, hosts[0].find(' ')), " and rank ", rank, " on ",
                                  hosts[rank].substr(0, hosts[rank].find(' ')), ": choose `exchange: gloo`"));
  }
  std::unique_ptr<SharedMemory> memory;
  if (world_.rank == 0) memory = std::make_unique<SharedMemory>(0, world_.size, timeout_);
  const std::string address = exchange(memory ? memory->address() : "").front();
  if (!memory) memory = std::make_unique<SharedMemory>(world_.rank, world_.size, timeout_, address);
  host_exchange_ = std::make_unique<HostExchange>(std::move(memory));
  agree("shared memory");
}

void Group::refuse_shared_gpus(const std::string& uuid) {
  hpcbench::train::refuse_shared_gpus(exchange(gpu_claim(world_.host, uuid)));
}

std::vector<std::string> Group::exchange(const std::string& value) {
  const std::string name = concat("exchange-", ++exchanges_);
  put(*store_, rank_key(name + "-value", world_.rank), value);
  agree(name);
  std::vector<std::string> values;
  for (int rank = 0; rank < world_.size; ++rank) values.push_back(text_of(store_->get(rank_key(name + "-value", rank))));
  return values;
}

std::unique_ptr<Exchange> Group::make_exchange(Traffic& traffic, Ledger& ledger, DeviceClock& clock) {
  return std::make_unique<Exchange>(*this, traffic, ledger, clock);
}

void Group::broadcast_from_first(const std::vector<at::Tensor>& tensors) {
  constexpr std::size_t kBufferBytes = std::size_t{250} << 20;
  if (world_.size > 1 && !tensors.empty()) c10d::broadcast_coalesced(all_.process_group, tensors, kBufferBytes, 0);
}

void Group::sum(at::Tensor tensor) { sum_over(all_, std::move(tensor)); }

void Group::sum_over_shards(at::Tensor tensor) { sum_over(shards_, std::move(tensor)); }

void Group::sum(std::vector<double>& values) {
  device_.synchronise();
  if (world_.size > 1) sum(at::from_blob(values.data(), {std::ssize(values)}, at::kDouble));
}

void Group::barrier() {
  device_.synchronise();
  if (world_.size > 1) sum(at::ones({1}));
}

bool Group::any_rank(bool own) {
  if (world_.size == 1) return own;
  if (asking_) {
    asking_->wait();
    asking_.reset();
    if (asked_.item<float>() != 0) return true;
  }
  asked_ = at::full({1}, own ? 1.0 : 0.0, at::kFloat);
  std::vector<at::Tensor> tensors = {asked_};
  asking_ = all_.process_group->allreduce(tensors);
  return false;
}

std::string Group::silent_ranks(const std::string& cause) {
  put(*store_, rank_key("alive", world_.rank), "1");
  put(*store_, kRollCallKey, "1");
  const double end_s = monotonic_s() + kWordsOfPeerS;
  while (monotonic_s() < end_s) {
    if (has(*store_, kFailureKey)) return cause;
    std::this_thread::sleep_for(milliseconds(20));
  }
  std::vector<std::string> absent, silent;
  for (int rank = 0; rank < world_.size; ++rank) {
    if (has(*store_, rank_key("alive", rank))) continue;
    (has(*store_, rank_key("joined", rank)) ? silent : absent).push_back(std::to_string(rank));
  }
  if (!absent.empty()) {
    return concat("rank ", hpcbench::train::join(absent, ", "), " did not come to ", world_.master_addr, ":",
                  world_.master_port, ": start ", world_.size, " processes, each with its own RANK (", cause, ")");
  }
  if (silent.empty()) return cause;
  return concat("rank ", hpcbench::train::join(silent, ", "), " ended or hangs without a word (", cause, ")");
}

std::string Group::report_failure(const std::string& cause) {
  if (world_.size == 1) return cause;
  // A store whose rank 0 is frozen never answers, and its client waits forever: the thread is then left until the process ends.
  auto told = std::make_shared<std::promise<std::string>>();
  std::future<std::string> root = told->get_future();
  std::thread([this, cause, told] { told->set_value(tell_store(cause)); }).detach();
  const double readers_s = world_.rank == 0 ? kLateRanksS : 0;
  const auto limit = std::chrono::duration<double>(kWordsOfPeerS + readers_s + kStoreAnswersS);
  return root.wait_for(limit) == std::future_status::ready ? root.get() : silent_store(cause);
}

std::string Group::silent_store(const std::string& cause) const {
  return concat("rank 0, which holds the store at ", world_.master_addr, ":", world_.master_port,
                ", does not answer: it ended, hangs or was killed (", cause, ")");
}

std::string Group::tell_store(const std::string& cause) {
  try {
    const std::string seen = is_of_peer(cause) ? silent_ranks(cause) : cause;
    const std::string root = text_of(store_->compareSet(kFailureKey, {}, bytes_of(seen)));
    put(*store_, rank_key("read", world_.rank), "1");
    wait_for_readers(*store_);
    return root;
  } catch (const std::exception&) {
    return silent_store(cause);
  }
}

void Group::wait_for_readers(c10d::Store& store) {
  if (world_.rank != 0) return;
  const double start_s = monotonic_s();
  for (int rank = 1; rank < world_.size;) {
    const bool silent = has(store, kRollCallKey) && !has(store, rank_key("alive", rank));  // it will not read either
    const double limit_s = !has(store, rank_key("joined", rank)) ? kLateRanksS : silent ? kSilentReadersS : kReadersS;
    if (has(store, rank_key("read", rank)) || monotonic_s() - start_s > limit_s) {
      ++rank;
    } else {
      std::this_thread::sleep_for(milliseconds(20));
    }
  }
}

void Group::finish() {
  stop_watching();
  if (world_.size == 1) return;
  if (world_.rank == 0) return agree("done");
  put(*store_, rank_key("done", world_.rank), "1");
}

}  // namespace hpcbench::train
