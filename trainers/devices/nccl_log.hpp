#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace hpcbench::train {

/// The transports by which NCCL carries data between ranks.
struct NcclTransport {
  std::set<std::string> local;    // within a node: `P2P` (NVLink or PCIe), `SHM` (through the host's memory)
  std::set<std::string> network;  // `NET/IB/GDRDMA`, `NET/IB`, `NET/Socket` (TCP), `NET/` and the name of a plugin
};

/// Reads the transports in NCCL's output with NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=INIT,NET: its lines `Channel ... via
/// TRANSPORT`. Ignores other lines. Source: src/transport of NCCL 2.19 to 2.30.
NcclTransport read_nccl_log(const std::string& text);

/// Converts transports to one line, `P2P,SHM NET/IB`, which ranks exchange, and the lines of all ranks to their union.
std::string transport_line(const NcclTransport& transport);
NcclTransport join_transports(const std::vector<std::string>& lines);

/// Returns names and values for run_start: nccl_local_transport, nccl_network_transport. Unused transports are left out.
std::vector<std::pair<std::string, std::string>> transport_facts(const NcclTransport& transport);

}  // namespace hpcbench::train
