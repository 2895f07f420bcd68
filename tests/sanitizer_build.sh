#!/usr/bin/env bash
# Builds the runner, its tests and the fuzzers under AddressSanitizer and UBSan: build/asan.
set -euo pipefail
command -v clang++-16 > /dev/null || { echo "error: there is no clang++-16: scripts/setup.sh --checks installs it" >&2; exit 1; }
cmake --preset asan
cmake --build --preset asan --parallel "$(nproc)"
