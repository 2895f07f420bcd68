#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "devices/cpu_device.hpp"

namespace hpcbench::train {

/// Timing faults that a test requests, to prove that it would notice them.
enum class Haste {
  none,
  sums_not_joined,     // computing continues before the stream of sums has come as far
  gathers_not_joined,  // the same with the stream of gathers
  no_wait,             // a collective of the computing stream is not waited for
};

/// The findings of the ranks of one process: each is a sentence.
class LateFindings {
 public:
  void add(const std::string& what);
  std::vector<std::string> all() const;
  /// Records that the `index`-th collective of a rank in a group is `what`. If ranks differ it is a finding, and
  /// std::runtime_error.
  void expect(std::int64_t group, std::size_t index, const std::string& what);

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> found_;
  std::map<std::int64_t, std::vector<std::string>> collectives_;  // by group
};

class LateQueue;

/// The CPU as a device whose collectives run late, like a GPU's: side streams, results that are not a number until the
/// collective has run, at a time drawn from `seed`. During a collective nothing may change, free or resize its inputs and
/// outputs: that is a finding. One for each rank; `findings` is shared.
class LateDevice final : public CpuDevice {
 public:
  LateDevice(std::uint64_t seed, Haste haste, std::shared_ptr<LateFindings> findings);
  ~LateDevice() override;
  void resize(const at::Tensor& flat, std::int64_t bytes) const override;
  std::unique_ptr<SideStream> make_stream() const override;
  /// Inserts itself before Gloo.
  void connect(const c10::intrusive_ptr<c10d::ProcessGroup>& group, const c10::intrusive_ptr<c10d::Store>& store,
               std::chrono::milliseconds timeout) const override;

 private:
  std::shared_ptr<LateQueue> queue_;
  mutable int streams_ = 0;
};

}  // namespace hpcbench::train
