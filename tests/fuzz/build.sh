#!/usr/bin/env bash
# Builds the fuzzers: tests/fuzz/build.sh OUT_DIR makes OUT_DIR/NAME_fuzzer for every tests/fuzz/NAME_fuzzer.cpp.
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

# The sources of a stage as one unit, as the build itself compiles them, or of one file of a stage (runner/submit/slurm_parse).
unit() {
  local source
  for source in "$root/$1"/*.cpp "$root/$1.cpp"; do
    [[ ! -e $source ]] || printf '#include "%s"\n' "$source"
  done
}

# build NAME LIBRARIES -- STAGES_OR_FILES
build() {
  local name=$1 stage objects=()
  shift
  local libraries=()
  while [[ $1 != -- ]]; do
    libraries+=("$1")
    shift
  done
  shift
  local source="$root/tests/fuzz/${name}_fuzzer.cpp"
  [[ -e $source ]] || return 0
  local flags=(-std=c++20 -O1 -g1 -fno-omit-frame-pointer "-fsanitize=address,undefined" -fno-sanitize-recover=undefined
               -I "$root/${1%%/*}" -DHPCBENCH_VERSION='"fuzz"')
  for stage in "$@"; do
    local part="$out/${name}-${stage//\//-}"
    unit "$stage" >"$part.cpp"
    "$compiler" "${flags[@]}" -fsanitize=fuzzer-no-link -c "$part.cpp" -o "$part.o"
    objects+=("$part.o")
  done
  "$compiler" "${flags[@]}" -fsanitize=fuzzer "$source" "${objects[@]}" -o "$out/${name}_fuzzer" "${libraries[@]}"
  echo "$out/${name}_fuzzer"
}

build spec -lyaml-cpp -lre2 -lutf8proc -lfmt -lnettle -- runner/base runner/spec runner/plan
build ingest -lre2 -lfmt -lnettle -- runner/base runner/launch runner/ingest
# One program for all sources of metrics: its name says which one it reads.
build sources -lre2 -lfmt -lnettle -- runner/base runner/launch runner/ingest
for source in csv json tensorboard time gpu; do
  ln -f "$out/sources_fuzzer" "$out/${source}_fuzzer"
done
build slurm -lfmt -lnettle -- runner/base runner/submit/slurm_parse runner/cli/doctor_slurm_facts
build archive -lzstd -lfmt -lnettle -lutf8proc -- runner/base runner/cli/tar runner/cli/last_run runner/cli/archive_read
build safetensors -- trainers/files/safetensors_header trainers/core/text
