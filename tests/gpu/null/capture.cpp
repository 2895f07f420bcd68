// libnullgpu.so: streams that capture, and graphs.
#include "capture.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "null_gpu.hpp"

namespace {

/// Of cudaError_t.
enum Error {
  kSuccess = 0,
  kInvalidValue = 1,
  kInvalidHandle = 400,
  kIllegalState = 401,
  kUnsupported = 900,
  kInvalidated = 901,
  kMerge = 902,
  kUnmatched = 903,
  kUnjoined = 904,
  kIsolation = 905,
  kImplicit = 906,
  kCapturedEvent = 907,
  kWrongThread = 908,
};
enum Mode { kGlobal, kThreadLocal, kRelaxed };

thread_local int t_mode = kGlobal;

/// A piece of work. Without `to` it leaves memory alone, without `from` it sets it.
struct Node {
  std::string what, name;
  void* to = nullptr;
  const void* from = nullptr;
  int value = 0;
  std::size_t bytes = 0;

  void act() const {
    if (from)
      std::memmove(to, from, bytes);
    else if (to)
      std::memset(to, value, bytes);
  }
  void count(const std::string& before, const std::string& after) const {
    const std::string all = before + what + after;
    null_gpu_count(all.c_str());
    if (!name.empty()) null_gpu_count((all + ' ' + name).c_str());
  }
};
using Graph = std::vector<Node>;
/// The nodes of a capture, by their numbers, that come before a point of a stream.
using Past = std::set<std::size_t>;

struct Capture {
  void* origin = nullptr;
  int mode = kGlobal;
  std::thread::id thread;
  bool is_invalid = false;
  Graph graph;
  std::map<void*, Past> streams;  // those that take part

  bool forbids_unsafe_calls() const {
    if (mode == kRelaxed || t_mode == kRelaxed) return false;
    return thread == std::this_thread::get_id() || (t_mode == kGlobal && mode == kGlobal);
  }
  int refuse(Error error) {
    if (!std::exchange(is_invalid, true)) null_gpu_count("capture invalidated");
    return error;
  }
};

struct CapturedEvent {
  unsigned long long capture = 0;
  Past past;
};

bool is_legacy(const void* stream) { return reinterpret_cast<std::uintptr_t>(stream) <= 1; }  // null or cudaStreamLegacy

class Captures {
 public:
  int begin(void* stream, int mode) {
    const std::lock_guard lock(mutex_);
    if (mode < kGlobal || mode > kRelaxed) return kInvalidValue;
    if (is_legacy(stream)) return kUnsupported;
    if (Capture* const capture = of(stream)) return capture->refuse(kIllegalState);
    captures_[++last_id_] = {stream, mode, std::this_thread::get_id(), false, {}, {{stream, {}}}};
    return kSuccess;
  }

  int end(void* stream, Graph& graph) {
    const std::lock_guard lock(mutex_);
    Capture* const capture = of(stream);
    if (!capture) return kIllegalState;
    if (capture->origin != stream) return capture->refuse(kUnmatched);
    if (capture->mode != kRelaxed && capture->thread != std::this_thread::get_id()) return capture->refuse(kWrongThread);
    const bool is_joined = capture->streams[stream].size() == capture->graph.size();
    const Error error = capture->is_invalid ? kInvalidated : is_joined ? kSuccess : kUnjoined;
    graph = std::move(capture->graph);
    std::erase_if(captures_, [capture](const auto& each) { return &each.second == capture; });
    return error;
  }

  int status(void* stream, int& status, unsigned long long& id) {
    const std::lock_guard lock(mutex_);
    status = 0;
    id = 0;
    for (const auto& [number, capture] : captures_) {
      if (is_legacy(stream) && blocks_legacy(capture)) return kImplicit;
      if (!capture.streams.contains(stream)) continue;
      status = capture.is_invalid ? 2 : 1;
      id = number;
    }
    return kSuccess;
  }

  /// Returns whether the work was recorded: otherwise it must be done now, unless there is an error.
  std::pair<int, bool> put(void* stream, const Node& node, bool is_refused) {
    const std::lock_guard lock(mutex_);
    const auto [error, capture] = use(stream);
    if (error || !capture) return {error, false};
    if (is_refused) return {capture->refuse(kUnsupported), false};
    capture->streams[stream].insert(capture->graph.size());
    capture->graph.push_back(node);
    return {kSuccess, true};
  }

  int unsafe_call() {
    const std::lock_guard lock(mutex_);
    return refuse_unsafe_call(kUnsupported);
  }

  int await(void* stream) {
    const std::lock_guard lock(mutex_);
    const auto [error, capture] = use(stream);
    if (error) return error;
    return capture ? capture->refuse(kUnsupported) : refuse_unsafe_call(kUnsupported);
  }

  int await_all() {
    const std::lock_guard lock(mutex_);
    for (auto& [id, capture] : captures_) capture.refuse(kUnsupported);
    return captures_.empty() ? kSuccess : kUnsupported;
  }

  void add_blocking(void* stream) {
    const std::lock_guard lock(mutex_);
    blocking_.insert(stream);
  }

  int record(void* event, void* stream) {
    const std::lock_guard lock(mutex_);
    const auto [error, capture] = use(stream);
    if (error) return error;
    events_.erase(event);
    for (const auto& [number, each] : captures_)
      if (&each == capture) events_[event] = {number, each.streams.at(stream)};
    return kSuccess;
  }

  int wait(void* stream, void* event) {
    const std::lock_guard lock(mutex_);
    const auto [error, capture] = use(stream);
    if (error) return error;
    const auto recorded = events_.find(event);
    if (recorded == events_.end()) return capture ? capture->refuse(kIsolation) : kSuccess;
    const auto found = captures_.find(recorded->second.capture);
    if (found == captures_.end()) return capture ? capture->refuse(kCapturedEvent) : kCapturedEvent;
    Capture& other = found->second;
    if (other.is_invalid) return kInvalidated;
    if (is_legacy(stream)) return other.refuse(kImplicit);
    if (capture && capture != &other) return other.refuse(kMerge), capture->refuse(kMerge);
    other.streams[stream].insert(recorded->second.past.begin(), recorded->second.past.end());
    return kSuccess;
  }

  int await_event(void* event) {
    const std::lock_guard lock(mutex_);
    const auto recorded = events_.find(event);
    if (recorded == events_.end()) return refuse_unsafe_call(kUnsupported);
    const auto found = captures_.find(recorded->second.capture);
    return found == captures_.end() ? kCapturedEvent : found->second.refuse(kCapturedEvent);
  }

  void forget_event(void* event) {
    const std::lock_guard lock(mutex_);
    events_.erase(event);
  }

 private:
  Capture* of(void* stream) {
    for (auto& [id, capture] : captures_)
      if (capture.streams.contains(stream)) return &capture;
    return nullptr;
  }

  /// Returns the capture that a stream is in, or null. An error: the stream cannot be used now.
  std::pair<int, Capture*> use(void* stream) {
    if (is_legacy(stream)) return {refuse_legacy(), nullptr};
    Capture* const capture = of(stream);
    return {capture && capture->is_invalid ? kInvalidated : kSuccess, capture};
  }

  bool blocks_legacy(const Capture& capture) const {
    return std::ranges::any_of(capture.streams, [this](const auto& each) { return blocking_.contains(each.first); });
  }

  int refuse_legacy() {
    int error = refuse_unsafe_call(kImplicit);
    for (auto& [id, capture] : captures_)
      if (blocks_legacy(capture)) error = capture.refuse(kImplicit);
    return error;
  }

  int refuse_unsafe_call(Error error) {
    int answer = kSuccess;
    for (auto& [id, capture] : captures_)
      if (capture.forbids_unsafe_calls()) answer = capture.refuse(error);
    return answer;
  }

  std::mutex mutex_;
  unsigned long long last_id_ = 0;
  std::map<unsigned long long, Capture> captures_;  // in progress
  std::map<void*, CapturedEvent> events_;           // last recorded in a capture, even a finished one
  std::set<void*> blocking_;
};

/// Graphs, and executable ones: both are immutable nodes.
class Graphs {
 public:
  using Nodes = std::shared_ptr<const Graph>;

  void* add(Nodes nodes) {
    const std::lock_guard lock(mutex_);
    void* const handle = reinterpret_cast<void*>(++last_);
    nodes_[handle] = std::move(nodes);
    return handle;
  }
  /// Returns null for an unknown graph.
  Nodes find(void* handle) {
    const std::lock_guard lock(mutex_);
    const auto found = nodes_.find(handle);
    return found == nodes_.end() ? nullptr : found->second;
  }
  bool remove(void* handle) {
    const std::lock_guard lock(mutex_);
    return nodes_.erase(handle) > 0;
  }

 private:
  std::mutex mutex_;
  std::uintptr_t last_ = 0;
  std::map<void*, Nodes> nodes_;
};

/// The streams of libraries' handles.
class Handles {
 public:
  void set(void* handle, void* stream) {
    const std::lock_guard lock(mutex_);
    streams_[handle] = stream;
  }
  void* stream(void* handle) {
    const std::lock_guard lock(mutex_);
    const auto found = streams_.find(handle);
    return found == streams_.end() ? nullptr : found->second;
  }

 private:
  std::mutex mutex_;
  std::map<void*, void*> streams_;
};

/// They live as long as the process, like threads of LibTorch.
Captures& captures() {
  static Captures* const all = new Captures;
  return *all;
}
Graphs& graphs() {
  static Graphs* const all = new Graphs;
  return *all;
}
Handles& handles() {
  static Handles* const all = new Handles;
  return *all;
}

/// Does or records it. Counting may hang on request: no lock is held then.
int put(void* stream, const Node& node, bool is_refused = false) {
  const auto [error, is_recorded] = captures().put(stream, node, is_refused);
  if (error) return error;
  node.count(is_recorded ? "captured " : "", "");
  if (!is_recorded) node.act();
  return kSuccess;
}

}  // namespace

int null_gpu_work(void* stream, const char* what, const char* name) { return put(stream, {what, name ? name : ""}); }
int null_gpu_product(void* handle) { return put(handles().stream(handle), {"product", ""}); }
void null_gpu_set_stream(void* handle, void* stream) { handles().set(handle, stream); }
int null_gpu_copy(void* stream, const char* what, void* to, const void* from, std::size_t bytes, int is_pageable) {
  return put(stream, {what, "", to, from, 0, bytes}, is_pageable);
}
int null_gpu_memset(void* stream, void* to, int value, std::size_t bytes) {
  return put(stream, {"memset", "", to, nullptr, value, bytes});
}
int null_gpu_unrecordable(void* stream) { return captures().put(stream, {}, true).first; }

int null_gpu_unsafe() { return captures().unsafe_call(); }
int null_gpu_await(void* stream) { return captures().await(stream); }
int null_gpu_await_all() { return captures().await_all(); }
void null_gpu_blocking_stream(void* stream) { captures().add_blocking(stream); }

int null_gpu_record_event(void* event, void* stream) { return captures().record(event, stream); }
int null_gpu_wait_event(void* stream, void* event) { return captures().wait(stream, event); }
int null_gpu_await_event(void* event) { return captures().await_event(event); }
void null_gpu_forget_event(void* event) { captures().forget_event(event); }

int null_gpu_exchange_mode(int* mode) {
  if (*mode < kGlobal || *mode > kRelaxed) return kInvalidValue;
  std::swap(*mode, t_mode);
  return kSuccess;
}
int null_gpu_begin_capture(void* stream, int mode) { return captures().begin(stream, mode); }
int null_gpu_end_capture(void* stream, void** graph) {
  Graph nodes;
  const int error = captures().end(stream, nodes);
  *graph = error ? nullptr : graphs().add(std::make_shared<const Graph>(std::move(nodes)));
  return error;
}
int null_gpu_capture_status(void* stream, int* status, unsigned long long* id) {
  return captures().status(stream, *status, *id);
}

int null_gpu_graph_nodes(void* graph, std::size_t* count) {
  const Graphs::Nodes nodes = graphs().find(graph);
  *count = nodes ? nodes->size() : 0;
  return nodes ? kSuccess : kInvalidHandle;
}
int null_gpu_instantiate(void* graph, void** executable) {
  Graphs::Nodes nodes = graphs().find(graph);
  *executable = nodes ? graphs().add(std::move(nodes)) : nullptr;
  return *executable ? kSuccess : kInvalidHandle;
}
int null_gpu_launch(void* executable, void* stream) {
  const Graphs::Nodes nodes = graphs().find(executable);
  if (!nodes) return kInvalidHandle;
  if (const int error = null_gpu_unrecordable(stream)) return error;
  null_gpu_count("graph launch");
  for (const Node& node : *nodes) {
    node.count("", " in a graph");
    node.act();
  }
  return kSuccess;
}
int null_gpu_destroy_graph(void* graph) { return graphs().remove(graph) ? kSuccess : kInvalidHandle; }
