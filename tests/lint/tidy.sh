#!/usr/bin/env bash
# clang-tidy on libraries of the build `default`, and on sources of theirs that are compiled apart, as one unit: it walks through
# all headers, and so through each once: tests/lint/tidy.sh runner/spec runner/base/log.cpp...
# The last one's options of the compiler are everybody's. Two names that are local to a file each must differ within a unit: where they
# do not, rename one or choose other units (tests/checks.cmake). What is precompiled for GCC means nothing to clang.
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
