// Facts from NCCL's log and from the driver's library.
#include <doctest/doctest.h>

#include <string>

#include "devices/nccl_log.hpp"
#include "devices/nvml.hpp"

namespace hpcbench::train {

using Facts = std::vector<std::pair<std::string, std::string>>;

TEST_CASE("NCCL's log shows how ranks are connected") {
  const NcclTransport found = read_nccl_log(
      "n01:71:71 [0] NCCL INFO Using network IB\n"
      "n01:71:90 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC/read\n"
      "[2026-11-26 07:00:00] n01:71:90 [0] NCCL INFO Channel 23/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
      "n01:71:90 [0] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [receive] via NET/IB/3/GDRDMA\n"
      "n01:71:90 [0] NCCL INFO Channel 01/0 : 0[0] -> 9[1] [send] via NET/IB/1(1)/GDRDMA(PCI)/Shared\n"
      "n01:71:90 [0] NCCL INFO CollNet 00/0 : 0 [send] via COLLNET/SHARP/0/GDRDMA\n"
      "n01:71:90 [0] NCCL INFO Connected all rings, use ring PXN 0 GDR 1\n"
      "n01:71:90 [0] NCCL INFO Channel 02 : 0[0] -> 1[1] via SHM/direct/direct\r\n"
      "sent via NET/Pigeon/0\n");
  CHECK(transport_facts(found) ==
        Facts{{"nccl_local_transport", "P2P,SHM"}, {"nccl_network_transport", "COLLNET/SHARP/GDRDMA,NET/IB/GDRDMA"}});
  CHECK(transport_facts(read_nccl_log("a:1:1 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/Socket/0")) ==
        Facts{{"nccl_network_transport", "NET/Socket"}});
  CHECK(transport_facts(read_nccl_log("a:1:1 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/0")) ==
        Facts{{"nccl_network_transport", "NET/IB"}});
  CHECK(transport_facts(read_nccl_log("")).empty());
  CHECK(transport_facts(read_nccl_log("Channel 0 via NET\nChannel 0 via ")).empty());
}

TEST_CASE("ranks put together how they are connected") {
  const NcclTransport one = read_nccl_log("Channel 00/0 : 0[0] -> 1[1] via P2P/IPC");
  const NcclTransport other = read_nccl_log("Channel 00/0 : 1[1] -> 2[0] [send] via NET/Socket/0");
  const NcclTransport all = join_transports({transport_line(one), transport_line(other), transport_line({})});
  CHECK(transport_facts(all) == Facts{{"nccl_local_transport", "P2P"}, {"nccl_network_transport", "NET/Socket"}});
}

TEST_CASE("the driver's library reports a GPU's settings; others are absent") {
  CHECK(read_nvml(HPCBENCH_FAKE_NVML, "0000:17:00.0") == Facts{{"gpu_persistence", "true"},
                                                               {"gpu_power_limit_w", "700"},
                                                               {"gpu_max_sm_clock_mhz", "1980"},
                                                               {"gpu_pcie", "gen5 x16"},
                                                               {"gpu_nvlinks", "3"}});
  CHECK(read_nvml(HPCBENCH_FAKE_NVML, "0000:99:00.0").empty());
  CHECK(read_nvml("libnosuch-nvml.so.1", "0000:17:00.0").empty());
  CHECK(read_energy_j(HPCBENCH_FAKE_NVML, "0000:17:00.0") == 5'000'000.25);
  CHECK_FALSE(read_energy_j(HPCBENCH_FAKE_NVML, "0000:99:00.0"));
  CHECK_FALSE(read_energy_j("libnosuch-nvml.so.1", "0000:17:00.0"));
}

}  // namespace hpcbench::train
