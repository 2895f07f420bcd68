// The host's waits in a step: on a GPU each read of a tensor's value is a wait.
#include <ATen/record_function.h>

#include <atomic>
#include <string>

#include "trainers/strategies/trial.hpp"

namespace hpcbench::train {

namespace {

/// Counts values of tensors that are read during its lifetime, in all threads.
class ReadCount {
 public:
  ReadCount() {
    current() = 0;
    handle_ = at::addGlobalCallback(at::RecordFunctionCallback(&begin).scopes({at::RecordScope::FUNCTION}));
  }
  ~ReadCount() { at::removeCallback(handle_); }
  ReadCount(const ReadCount&) = delete;
  ReadCount& operator=(const ReadCount&) = delete;
  int count() const { return current(); }

 private:
  static std::atomic<int>& current() {
    static std::atomic<int> reads = 0;
    return reads;
  }
  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
    if (std::string(function.name()) == "aten::_local_scalar_dense") ++current();
    return nullptr;
  }
  at::CallbackHandle handle_ = 0;
};

}  // namespace

TEST_CASE("dp reads one number a micro-batch, its loss, which a GPU keeps until it is read") {
  Trial trial;
  trial.steps = 4;
  trial.micro_batches = 3;
  trial.single = true;
  for (const std::string strategy : {"baseline", "dp"}) {
    for (const int devices : {1, 3}) {
      CAPTURE(strategy);
      CAPTURE(devices);
      trial.strategy = strategy;
      trial.ranks = devices;
      const ReadCount reads;
      run_trial(trial);
      CHECK(reads.count() == trial.steps * trial.micro_batches);
    }
  }
}

}  // namespace hpcbench::train
