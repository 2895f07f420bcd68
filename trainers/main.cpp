#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "kernels/large_heap.hpp"
#include "training/program.hpp"

int main(int argc, char** argv) {
  const int exit_code = hpcbench::train::main_program({argv + 1, argv + argc});
  std::cout.flush();
  std::fflush(nullptr);
  // Skips LibTorch's work at exit: destroying thousands of operators takes longer than `features` and `score` do.
  _exit(exit_code);
}
