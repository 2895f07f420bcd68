#!/usr/bin/env bash
# Runs clang-tidy on libraries of the build `default`, and on their separately compiled sources, as one unit, so that it
# reads each header once: tests/lint/tidy.sh runner/spec runner/base/log.cpp...
# All files are compiled with the options of the last one. File-local names must be distinct within a unit: otherwise rename
# one or choose other units (tests/checks.cmake). clang ignores the header that is precompiled for GCC.
set -euo pipefail
units=()
for part in "$@"; do
  if [[ $part != *.cpp ]]; then
    part=build/default/${part%/*}/CMakeFiles/hpcbench_${part#*/}.dir/Unity/unity_0_cxx.cxx
    [ -e "$part" ] || { echo "error: $part is missing: cmake --preset default writes it" >&2; exit 1; }
  fi
  units+=("$PWD/$part")
done
others=()
for unit in "${units[@]:0:$#-1}"; do others+=("--extra-arg=-include$unit"); done
exec clang-tidy-16 --quiet --config-file=.clang-tidy -p build/default --extra-arg=-Wno-unused-command-line-argument \
  --header-filter="$PWD/(shared|runner|trainers)/.*" "${others[@]}" "${units[-1]}"
