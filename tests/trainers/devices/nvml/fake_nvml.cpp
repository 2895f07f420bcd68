// A libnvidia-ml for tests of read_nvml(): one GPU, for which it answers everything but the error correction, which fails.
#include <cstring>

namespace {
int gpu = 0;
constexpr unsigned kNvlinks = 4;  // NVLinks that the GPU has; the first one is down
}  // namespace

extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** device) {
  *device = &gpu;
  return std::strcmp(bus, "0000:17:00.0") == 0 ? 0 : 6;
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  return *millijoules = 5'000'000'250, device == &gpu ? 0 : 2;  // more than fit into 32 bits
}
int nvmlDeviceGetPersistenceMode(void* device, unsigned* mode) { return *mode = 1, device == &gpu ? 0 : 2; }
int nvmlDeviceGetEccMode(void*, unsigned*, unsigned*) { return 3; }
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) { return *milliwatts = 700000, 0; }
int nvmlDeviceGetMaxClockInfo(void*, int type, unsigned* mhz) { return *mhz = type == 1 ? 1980 : 0, 0; }
int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* generation) { return *generation = 5, 0; }
int nvmlDeviceGetCurrPcieLinkWidth(void*, unsigned* width) { return *width = 16, 0; }
int nvmlDeviceGetNvLinkState(void*, unsigned link, unsigned* state) {
  return *state = link > 0 ? 1 : 0, link < kNvlinks ? 0 : 2;
}
}
