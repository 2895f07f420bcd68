#include <ATen/ops/ones.h>
#include <c10/cuda/CUDAFunctions.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "devices/cuda_parts.hpp"

namespace hpcbench::train {

namespace {

/// Makes NCCL log its connections into a temporary file, unless the user requests a log. NCCL reads these variables once, at
/// its first use: they are then restored, so that neither the record nor a child has them.
class ConnectionLog {
 public:
  ConnectionLog() {
    for (const auto& [name, value] : kVariables) {
      if (std::getenv(name)) return;
    }
    const std::filesystem::path place = std::filesystem::temp_directory_path(error_) / "hpcbench-nccl-XXXXXX";
    path_ = place.string();
    const int descriptor = mkstemp(path_.data());
    if (descriptor < 0) {
      path_.clear();
      return;
    }
    close(descriptor);
    for (const auto& [name, value] : kVariables) setenv(name, value ? value : path_.c_str(), 1);
  }
  ~ConnectionLog() {
    if (path_.empty()) return;
    for (const auto& [name, value] : kVariables) unsetenv(name);
    unlink(path_.c_str());
  }
  ConnectionLog(const ConnectionLog&) = delete;
  ConnectionLog& operator=(const ConnectionLog&) = delete;

  NcclTransport transport() const {
    std::ifstream file(path_);
    return read_nccl_log({std::istreambuf_iterator<char>(file), {}});
  }

 private:
  static constexpr std::pair<const char*, const char*> kVariables[] = {
      {"NCCL_DEBUG", "INFO"}, {"NCCL_DEBUG_SUBSYS", "INIT,NET"}, {"NCCL_DEBUG_FILE", nullptr}};
  std::error_code error_;
  std::string path_;  // empty: no log
};

}  // namespace

NcclTransport add_nccl(const c10::intrusive_ptr<c10d::ProcessGroup>& group, const c10::intrusive_ptr<c10d::Store>& store,
                       at::Device place, std::chrono::milliseconds timeout) {
  const ConnectionLog log;
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = timeout;
  group->setBoundDeviceId(place);  // setBackend() passes it on
  // Its own prefix keeps NCCL's keys apart from those of Gloo and of the trainer.
  const auto nccl = c10::make_intrusive<c10d::ProcessGroupNCCL>(c10::make_intrusive<c10d::PrefixStore>("nccl", store),
                                                                group->getRank(), group->getSize(), options);
  group->setBackend(c10::DeviceType::CUDA, c10d::ProcessGroup::BackendType::NCCL, nccl);
  // Lives until the process ends, without destructors: its own would warn on the standard error of every good run that the
  // communicators were not destroyed, which needs all ranks.
  c10::raw::intrusive_ptr::incref(nccl.get());
  std::vector<at::Tensor> ones = {at::ones({1}).to(place)};
  group->allreduce(ones)->wait();
  c10::cuda::device_synchronize();
  const auto sum = ones[0].item<float>();
  TORCH_CHECK(sum == static_cast<float>(group->getSize()), "NCCL adds up ", group->getSize(), " ones to ", sum);
  return log.transport();
}

std::string nccl_version() { return c10d::getNcclVersion(); }

}  // namespace hpcbench::train
