#include "trainers/late/late_queue.hpp"

#include <algorithm>
#include <stdexcept>

#include "base/text.hpp"

namespace hpcbench::train {

namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

void LateFindings::add(const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (std::find(found_.begin(), found_.end(), what) == found_.end()) found_.push_back(what);
}

std::vector<std::string> LateFindings::all() const {
  const std::lock_guard lock(mutex_);
  return found_;
}

void LateFindings::expect(std::int64_t group, std::size_t index, const std::string& what) {
  std::string other;
  {
    const std::lock_guard lock(mutex_);
    std::vector<std::string>& collectives = collectives_[group];
    if (index == collectives.size()) collectives.push_back(what);
    other = collectives.at(index);
  }
  if (other == what) return;
  const std::string finding = concat("ranks differ in their collectives: ", other, " and ", what);
  add(finding);
  throw std::runtime_error(finding);
}

LateQueue::~LateQueue() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::size_t LateQueue::add(Collective collective) {
  const std::lock_guard lock(mutex_);
  collective.index = next_++;
  constexpr int kMostUs = 20'000;  // half of them as late as possible
  const bool late = random_() % 2 == 0;
  collective.due = Clock::now() + std::chrono::microseconds(late ? kMostUs : static_cast<int>(random_() % 300));
  const std::size_t index = collective.index;
  waiting_.push_back(std::move(collective));
  changed_.notify_all();
  return index;
}

Collective* LateQueue::last_that_writes(int stream, const at::Tensor& tensor) {
  const MemoryInUse memory(tensor);
  for (auto each = waiting_.rbegin(); each != waiting_.rend(); ++each) {
    if (each->stream == stream && each->outputs.size() == 1 && each->outputs.front().is_of(memory)) return &*each;
  }
  return nullptr;
}

at::Tensor LateQueue::seen_in(int stream, const at::Tensor& tensor) {
  const std::lock_guard lock(mutex_);
  const Collective* const before = stream == kComputing ? nullptr : last_that_writes(stream, tensor);
  return before != nullptr ? before->results.front().clone() : tensor.clone();
}

std::optional<std::size_t> LateQueue::amend(int stream, const at::Tensor& tensor, const at::Tensor& result) {
  const std::lock_guard lock(mutex_);
  Collective* const before = stream == kComputing ? nullptr : last_that_writes(stream, tensor);
  if (before == nullptr) return std::nullopt;
  before->results.front() = result;
  return before->index;
}

void LateQueue::wait_for(std::size_t index) {
  std::unique_lock lock(mutex_);
  for (Collective& each : waiting_) {
    if (each.index <= index) each.due = Clock::now();  // earlier work of its stream must run, too
  }
  changed_.notify_all();
  done_.wait(lock, [&] {
    return std::none_of(waiting_.begin(), waiting_.end(), [&](const Collective& each) { return each.index == index; });
  });
}

void LateQueue::run() {
  std::unique_lock lock(mutex_);
  while (!stop_ || !waiting_.empty()) {
    const auto next = first_due();
    if (next == waiting_.end()) {
      changed_.wait(lock);
    } else if (!stop_ && next->due > Clock::now()) {
      changed_.wait_until(lock, next->due);
    } else {
      finish(*next);
      waiting_.erase(next);
      done_.notify_all();
    }
  }
}

std::deque<Collective>::iterator LateQueue::first_due() {
  auto found = waiting_.end();
  for (auto each = waiting_.begin(); each != waiting_.end(); ++each) {
    const bool first =
        std::none_of(waiting_.begin(), each, [&](const Collective& before) { return before.stream == each->stream; });
    if (first && (found == waiting_.end() || each->due < found->due)) found = each;
  }
  return found;
}

void LateQueue::finish(Collective& collective) {
  for (const std::vector<MemoryInUse>* const held : {&collective.inputs, &collective.outputs}) {
    for (const MemoryInUse& each : *held) {
      const std::string trouble = each.trouble();
      if (!trouble.empty()) findings_->add(concat("a tensor was ", trouble, " while ", collective.name, " used it"));
    }
  }
  for (std::size_t i = 0; i < collective.outputs.size(); ++i) collective.outputs[i].write(collective.results[i]);
}

}  // namespace hpcbench::train
