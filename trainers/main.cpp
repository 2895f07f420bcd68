#include "core/program.hpp"

int main(int argc, char** argv) { return hpcbench::train::main_program({argv + 1, argv + argc}); }
