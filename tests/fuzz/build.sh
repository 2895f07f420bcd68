#!/usr/bin/env bash
# Builds the fuzzers: tests/fuzz/build.sh OUT_DIR makes OUT_DIR/NAME_fuzzer of every tests/fuzz/NAME_fuzzer.cpp.
# Needs clang 16 with its libFuzzer (Debian: clang-16 libclang-rt-16-dev). They run with their seeds as
#   OUT_DIR/spec_fuzzer -max_total_time=20 -timeout=10 -dict=tests/fuzz/spec.dict OUT_DIR/corpus-spec tests/fuzz/corpus/spec
# (new inputs go to the first folder; it must exist).
set -euo pipefail

if [[ $# -ne 1 ]]; then
  echo "usage: tests/fuzz/build.sh OUT_DIR" >&2
  exit 2
fi
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
out=$1
compiler=${FUZZ_CXX:-clang++-16}
mkdir -p "$out"

# Each fuzzer: the stages, or single files of one, that it is linked with, and their libraries. safetensors is the trainer's.
declare -A parts=(
  [spec]="runner/base runner/spec runner/plan"
  [ingest]="runner/base runner/launch runner/ingest"
  [sources]="runner/base runner/launch runner/ingest"
  [slurm]="runner/base runner/submit/slurm_parse runner/cli/doctor_slurm_facts"
  [archive]="runner/base runner/cli/tar runner/cli/last_run runner/cli/archive_read"
  [safetensors]="trainers/files/safetensors_header trainers/core/text"
)
declare -A libraries=(
  [spec]="-lyaml-cpp -lre2 -lutf8proc -lfmt -lnettle"
  [ingest]="-lre2 -lfmt -lnettle"
  [sources]="-lre2 -lfmt -lnettle"
  [slurm]="-lfmt -lnettle"
  [archive]="-lzstd -lfmt -lnettle -lutf8proc"
  [safetensors]=""
)
flags=(-O1 -g1 -fno-omit-frame-pointer "-fsanitize=address,undefined" -fno-sanitize-recover=undefined)

# unit PART: the sources of a stage as one, as the build itself compiles them, or those of one file.
unit() {
  local source
  for source in "$root/$1"/*.cpp "$root/$1.cpp"; do
    [[ ! -e $source ]] || printf '#include "%s"\n' "$source"
  done
}

# What fuzzers share is compiled once, as much at a time as there are cores.
mapfile -t units < <({ tr ' ' '\n' <<< "${parts[*]}"; printf '%s\n' "${!parts[@]}"; } | sort -u)
for part in "${units[@]}"; do
  if [[ $part == */* ]]; then unit "$part"; else unit "tests/fuzz/${part}_fuzzer"; fi > "$out/${part//\//-}.cpp"
done
printf '%s\0' "${units[@]//\//-}" |
  xargs -0 -P "$(nproc)" -I PART "$compiler" -std=c++20 "${flags[@]}" -fsanitize=fuzzer-no-link -I "$root/runner" -I "$root/trainers" \
    -DHPCBENCH_VERSION='"fuzz"' -c "$out/PART.cpp" -o "$out/PART.o"

for name in "${!parts[@]}"; do
  objects=("$out/$name.o")
  for part in ${parts[$name]}; do objects+=("$out/${part//\//-}.o"); done
  # shellcheck disable=SC2086  # several libraries
  "$compiler" "${flags[@]}" -fsanitize=fuzzer "${objects[@]}" -o "$out/${name}_fuzzer" ${libraries[$name]}
  echo "$out/${name}_fuzzer"
done
# One program for all sources of metrics: its name says which one it reads.
for source in csv json tensorboard time gpu; do
  ln -f "$out/sources_fuzzer" "$out/${source}_fuzzer"
done
