#include "devices/nccl_log.hpp"

#include <algorithm>
#include <sstream>

#include "base/text.hpp"

namespace hpcbench::train {

namespace {

/// Adds a transport in short form: `NET/IB/0(2)/GDRDMA(PCI)/Shared` becomes `NET/IB/GDRDMA`, `P2P/IPC/read` becomes `P2P`.
void add_transport(const std::string& words, NcclTransport& transport) {
  const std::string whole = words.substr(0, words.find_first_of(" \t\r"));
  const std::size_t slash = whole.find('/');
  const std::string kind = whole.substr(0, slash);
  if (kind == "P2P" || kind == "SHM") {
    transport.local.insert(kind);
  } else if ((kind == "NET" || kind == "COLLNET") && slash != std::string::npos) {
    const std::size_t end = whole.find('/', slash + 1);
    const bool direct = end != std::string::npos && whole.find("/GDRDMA", end) != std::string::npos;
    transport.network.insert(whole.substr(0, end) + (direct ? "/GDRDMA" : ""));
  }
}

std::string joined_set(const std::set<std::string>& words) { return join({words.begin(), words.end()}, ","); }

void add_words(const std::string& words, std::set<std::string>& set) {
  std::istringstream all(words);
  for (std::string word; std::getline(all, word, ',');) set.insert(word);
}

}  // namespace

NcclTransport read_nccl_log(const std::string& text) {
  constexpr const char* kVia = " via ";
  NcclTransport transport;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t via = line.find(kVia);
    if (via == std::string::npos || std::min(line.find("Channel "), line.find("CollNet ")) > via) continue;
    add_transport(line.substr(via + std::string(kVia).size()), transport);
  }
  return transport;
}

std::string transport_line(const NcclTransport& transport) {
  return joined_set(transport.local) + " " + joined_set(transport.network);
}

NcclTransport join_transports(const std::vector<std::string>& lines) {
  NcclTransport all;
  for (const std::string& line : lines) {
    const std::size_t blank = line.find(' ');
    add_words(line.substr(0, blank), all.local);
    if (blank != std::string::npos) add_words(line.substr(blank + 1), all.network);
  }
  return all;
}

std::vector<std::pair<std::string, std::string>> transport_facts(const NcclTransport& transport) {
  std::vector<std::pair<std::string, std::string>> facts;
  if (!transport.local.empty()) facts.emplace_back("nccl_local_transport", joined_set(transport.local));
  if (!transport.network.empty()) facts.emplace_back("nccl_network_transport", joined_set(transport.network));
  return facts;
}

}  // namespace hpcbench::train
