#include "trainers/dump.hpp"

#include <cstring>

#include "trainers/ranks.hpp"
#include "trainers/torch_doctest.hpp"

namespace hpcbench::train {

namespace {

std::map<std::string, at::Tensor> parse_dump(const std::string& bytes) {
  std::map<std::string, at::Tensor> tensors;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = bytes.find('\n', at);
    const std::size_t space = bytes.find(' ', at);
    const std::int64_t count = std::stoll(bytes.substr(space + 1, end - space - 1));
    at::Tensor values = at::empty({count}, at::kDouble);
    std::memcpy(values.data_ptr<double>(), bytes.data() + end + 1, static_cast<std::size_t>(count) * 8);
    tensors[bytes.substr(at, space - at)] = values;
    at = end + 1 + static_cast<std::size_t>(count) * 8;
  }
  return tensors;
}

}  // namespace

Dump read_dumps(const std::string& prefix, int ranks) {
  Dump dump;
  for (int rank = 0; rank < ranks; ++rank) dump.bytes.push_back(slurp(prefix + "." + std::to_string(rank)));
  dump.tensors = parse_dump(dump.bytes.front());
  return dump;
}

}  // namespace hpcbench::train
