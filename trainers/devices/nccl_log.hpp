#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace hpcbench::train {

/// How NCCL carries data between ranks.
struct NcclTransport {
  std::set<std::string> local;    // within a node: `P2P` (NVLink or PCIe), `SHM` (through the host's memory)
  std::set<std::string> network;  // `NET/IB/GDRDMA`, `NET/IB`, `NET/Socket` (TCP), `NET/` and the name of a plugin
};

/// Of the text that NCCL writes with NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=INIT,NET: its lines `Channel ... via TRANSPORT`.
/// Whatever else the text holds is passed over. Source: src/transport of NCCL 2.19 to 2.30.
NcclTransport read_nccl_log(const std::string& text);

/// As one line, `P2P,SHM NET/IB`, in which ranks tell each other, and back: what all of them have.
std::string transport_line(const NcclTransport& transport);
NcclTransport join_transports(const std::vector<std::string>& lines);

/// Names and values for run_start: nccl_local_transport, nccl_network_transport. What is not used is absent.
std::vector<std::pair<std::string, std::string>> transport_facts(const NcclTransport& transport);

}  // namespace hpcbench::train
