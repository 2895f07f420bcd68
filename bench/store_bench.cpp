// How long it takes to index N planned attempts: the transaction that precedes every submission.
//   store_bench N DATABASE
#include <fmt/format.h>

#include <cstdlib>

#include "base/host.hpp"
#include "store/store.hpp"

int main(int argc, char** argv) {
  using namespace hpcbench;
  if (argc != 3) {
    fmt::print(stderr, "usage: store_bench N DATABASE\n");
    return 2;
  }
  std::vector<AttemptState> states;
  for (long i = 0; i < std::strtol(argv[1], nullptr, 10); ++i) {
    states.push_back(
        {{fmt::format("{:016x}", static_cast<unsigned long long>(i) * 0x9E3779B97F4A7C15ULL), {RunKind::repeat, 1}, 1},
         State::intended});
  }
  Store store = Store::open(argv[2]);
  const double begin_s = monotonic_s();
  store.put_states("bench", states);
  fmt::print("{:.6f}\n", monotonic_s() - begin_s);
  return 0;
}
