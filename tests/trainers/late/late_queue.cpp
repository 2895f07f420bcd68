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

void LateFindings::expect(std::size_t index, const std::string& what) {
  std::string other;
  {
    const std::lock_guard lock(mutex_);
    if (index == collectives_.size()) collectives_.push_back(what);
    other = collectives_.at(index);
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
  // Half of them as late as can be; who asks a future cannot be seen, so that those have less time.
  const int most_us = collective.stream == kOfReducer ? 400 : 20'000;
  const bool late = random_() % 2 == 0;
  collective.due = Clock::now() + std::chrono::microseconds(late ? most_us : static_cast<int>(random_() % 300));
  const std::size_t index = collective.index;
  waiting_.push_back(std::move(collective));
  changed_.notify_all();
  return index;
}

void LateQueue::wait_for(std::size_t index) {
  std::unique_lock lock(mutex_);
  for (Collective& each : waiting_) {
    if (each.index <= index) each.due = Clock::now();  // what is before it in its stream has to run, too
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
      const c10::intrusive_ptr<c10::ivalue::Future> future = next->future;
      const at::Tensor told = next->told;
      waiting_.erase(next);
      done_.notify_all();
      lock.unlock();
      const std::vector<at::Tensor> given = told.defined() ? std::vector<at::Tensor>{told} : std::vector<at::Tensor>{};
      if (!future->completed()) future->markCompleted(c10::IValue(given));
      lock.lock();
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
