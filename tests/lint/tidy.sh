#!/usr/bin/env bash
# clang-tidy on one library of the build `default`: tests/lint/tidy.sh runner/CMakeFiles/hpcbench_cli.dir [FILE...]
# FILE...: sources of it that are compiled apart.
# A library is one unit: clang-tidy reads its headers once. What is precompiled for GCC means nothing to clang.
set -euo pipefail
unit=build/default/$1/Unity/unity_0_cxx.cxx
[ -e "$unit" ] || { echo "error: $unit is missing: cmake --preset default writes it" >&2; exit 1; }
exec clang-tidy-16 --quiet --config-file=.clang-tidy -p build/default --extra-arg=-Wno-unused-command-line-argument \
  --header-filter="$PWD/(shared|runner|trainers)/.*" "$unit" "${@:2}"
