#pragma once

#include "devices/device.hpp"

namespace hpcbench::train {

/// The CPU. Test devices inherit from it.
class CpuDevice : public Device {
 public:
  at::Device place() const override { return at::kCPU; }
  std::vector<std::pair<std::string, std::string>> facts() const override;
  std::vector<std::pair<std::string, std::string>> versions() const override { return {}; }
  std::string uuid() const override { return ""; }
  void synchronise() const override {}
  std::optional<std::int64_t> max_bytes() const override { return std::nullopt; }
  std::optional<double> energy_j() const override { return std::nullopt; }
  void resize(const at::Tensor& flat, std::int64_t bytes) const override;
  std::unique_ptr<SideStream> make_stream() const override { return nullptr; }
  std::unique_ptr<Lap> begin_lap() const override { return nullptr; }
  std::unique_ptr<CapturedWork> capture(const std::function<std::vector<at::Tensor>()>& work) const override;
  void connect(const c10::intrusive_ptr<c10d::ProcessGroup>&, const c10::intrusive_ptr<c10d::Store>&,
               std::chrono::milliseconds) const override {}
  NcclTransport transport() const override { return {}; }
};

}  // namespace hpcbench::train
