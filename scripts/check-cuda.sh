#!/usr/bin/env bash
# Compiles the trainer's CUDA and NCCL sources. Needs no GPU, no nvcc and, without --link, no CUDA LibTorch.
#   scripts/check-cuda.sh          compiles them with our warnings as errors; headers that are missing are downloaded once into
#                                  build/cuda-headers (210 MB)
#   scripts/check-cuda.sh --link   downloads LibTorch with CUDA into build/cuda-torch as well (1.7 GB), builds hpcbench-train with
#                                  it, starts it, and sees that `--device cuda` is refused for want of a GPU
# The toolkit is that of CUDA_HOME (/usr/local/cuda) where there is one. Exit code 77: the packages cannot be had here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

link=no
for argument in "$@"; do
  case "$argument" in
    --link) link=yes ;;
    -h | --help) sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "error: unknown option $argument; see scripts/check-cuda.sh --help" >&2; exit 2 ;;
  esac
done

headers=build/cuda-headers
runtime_packages=(nvidia-cuda-runtime==13.0.96 nvidia-cuda-crt==13.0.88 nvidia-cuda-cccl==13.0.85)
nccl_package=nvidia-nccl-cu13==2.29.7
torch_version=2.13.0

skip() { echo "skipped: $1" >&2; exit 77; }

# unpack PACKAGE PATTERN FOLDER: the files of a package's wheel that match the pattern.
unpack() {
  local folder status=0
  folder=$(mktemp -d)
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: -d "$folder" "$1" > "$folder/log" 2>&1 || status=$?
  if [ "$status" -ne 0 ]; then
    tail -n 3 "$folder/log" >&2
    rm -rf "$folder"
    skip "the package $1 cannot be downloaded"
  fi
  python3 - "$folder" "$2" "$3" << 'END'
import fnmatch, glob, sys, zipfile
folder, pattern, into = sys.argv[1:]
for wheel in glob.glob(folder + "/*.whl"):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(into, [name for name in archive.namelist() if fnmatch.fnmatch(name, pattern)])
END
  rm -rf "$folder"
}

# Headers that LibTorch's build makes, and those of libraries whose handles its headers name; ours use none of them.
write_stand_ins() {
  mkdir -p "$headers/generated/ATen/cuda" "$headers/generated/c10/cuda/impl" "$headers/stubs"
  printf '#pragma once\n#define AT_%s_ENABLED() 0\n#define AT_%s_ENABLED() 0\n#define AT_%s_ENABLED() 0\n#define AT_%s_ENABLED() 0\n#define AT_CUDNN_ENABLED() 1\n' \
    CUSPARSELT HIPSPARSELT ROCM MAGMA > "$headers/generated/ATen/cuda/CUDAConfig.h"
  printf '#pragma once\n#define C10_CUDA_BUILD_SHARED_LIBS\n' > "$headers/generated/c10/cuda/impl/cuda_cmake_macros.h"
  local library
  for library in cublas:cublas_v2 cusparse:cusparse cusolver:cusolverDn; do
    local name=${library%%:*} file=${library##*:}
    printf '#pragma once\ntypedef struct %sContext* %sHandle_t;\ntypedef int %sStatus_t;\n' "$file" "${file%_v2}" "$name" > "$headers/stubs/$file.h"
  done
  printf '#pragma once\ntypedef int cusolverStatus_t;\n' > "$headers/stubs/cusolver_common.h"
  printf '#pragma once\n#include <cublas_v2.h>\ntypedef struct cublasLtContext* cublasLtHandle_t;\n' > "$headers/stubs/cublasLt.h"
}

torch_dir() {
  if [ -n "${HPCBENCH_TORCH_DIR:-}" ]; then echo "$HPCBENCH_TORCH_DIR"; return; fi
  local python
  for python in .venv/bin/python3 python3; do
    "$python" -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])' 2> /dev/null && return
  done
  echo "error: there is no LibTorch; run scripts/setup.sh" >&2
  exit 1
}

toolkit_include() {
  local include="${CUDA_HOME:-/usr/local/cuda}/include"
  if [ ! -e "$include/cuda_runtime_api.h" ]; then
    include=$headers/nvidia/cu13/include
    if [ ! -e "$headers/runtime-complete" ]; then
      local package
      for package in "${runtime_packages[@]}"; do unpack "$package" 'nvidia/*/include/*' "$headers"; done
      touch "$headers/runtime-complete"
    fi
  fi
  echo "$include"
}

nccl_include() {
  local include
  for include in "${CUDA_HOME:-/usr/local/cuda}/include" /usr/include; do
    if [ -e "$include/nccl.h" ]; then echo "$include"; return; fi
  done
  [ -e "$headers/nvidia/nccl/include/nccl.h" ] || unpack "$nccl_package" 'nvidia/nccl/include/*' "$headers"
  echo "$headers/nvidia/nccl/include"
}

compile() {
  local torch toolkit nccl unit status=0
  torch=$(torch_dir)
  toolkit=$(toolkit_include)
  nccl=$(nccl_include)
  write_stand_ins
  # One unit, as in the build: LibTorch's headers are read once.
  unit=$headers/unit.cpp
  local source sources=()
  for source in trainers/devices/cuda_*.cpp; do [ "$source" = trainers/devices/cuda_absent.cpp ] || sources+=("$source"); done
  printf '#include "%s"\n' "${sources[@]/#/$PWD/}" > "$unit"
  ${CXX:-g++} -std=c++20 -fopenmp -fsyntax-only -Wall -Wextra -Wpedantic -Werror -DUSE_C10D_NCCL -DUSE_C10D_GLOO -DUSE_DISTRIBUTED -Itrainers -Ishared \
    -isystem "$torch/include" -isystem "$torch/include/torch/csrc/api/include" -isystem "$headers/generated" -isystem trainers/gloo_headers \
    -isystem "$toolkit" -isystem "$nccl" -isystem "$headers/stubs" "$unit" || status=$?
  if [ $status -eq 0 ]; then echo "compiled: ${sources[*]} (CUDA headers: $toolkit, NCCL headers: $nccl)"; fi
  return $status
}

# Libraries that LibTorch's ask for and that are not here: empty ones of their names. A process without a GPU calls none.
write_empty_libraries() {
  local torch_lib=$1 into=$2 name needed
  mkdir -p "$into"
  needed=$(readelf -d "$torch_lib"/lib*.so* "$into"/../*/lib/*.so* 2> /dev/null | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p' | sort -u)
  for name in $needed; do
    [ -e "$torch_lib/$name" ] || [ -e "$into/$name" ] || compgen -G "$into/../*/lib/$name" > /dev/null && continue
    ldconfig -p | grep -qF "$name " && continue
    case $name in ld-linux*) continue ;; esac
    ${CXX:-g++} -shared -Wl,-soname,"$name" -o "$into/$name" -x c++ /dev/null
    echo "stands in: $name"
  done
}

link_and_start() {
  local root=$PWD/build/cuda-torch text status=0 package
  mkdir -p "$root"
  # `===`: not the variant for CPUs that a local index may have.
  [ -e "$root/torch/lib/libtorch_cuda.so" ] || unpack "torch===$torch_version" 'torch/[il][ni][cb]*/*' "$root"
  for package in "${runtime_packages[@]}"; do [ -e "$root/${package%%=*}" ] || { unpack "$package" 'nvidia/*' "$root"; touch "$root/${package%%=*}"; }; done
  [ -e "$root/nvidia/nccl/include/nccl.h" ] || unpack "$nccl_package" 'nvidia/nccl/*' "$root"
  write_empty_libraries "$root/torch/lib" "$root/nvidia/stand-ins"
  write_stand_ins
  cmake -S . -B build/cuda-link -G Ninja -DCMAKE_BUILD_TYPE= -DHPCBENCH_TESTS=OFF "-DHPCBENCH_TORCH_DIR=$root/torch" \
    "-DCMAKE_CXX_FLAGS=-O0 -isystem $PWD/$headers/stubs" > build/cuda-link.log
  cmake --build build/cuda-link --target hpcbench-train --parallel "${JOBS:-2}"
  export LD_LIBRARY_PATH="$root/nvidia/stand-ins:$root/nvidia/nccl/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  # The dynamic linker tells of each stand-in that it has no versions.
  build/cuda-link/bin/hpcbench-train --version 2> /dev/null
  text=$(build/cuda-link/bin/hpcbench-train run --data data/mnist --device cuda --max-steps 1 2>&1) || status=$?
  text=$(grep -v 'no version information' <<< "$text")
  echo "with --device cuda: exit code $status: $text"
  [ "$status" -eq 2 ] && [[ "$text" == *"no GPU is visible to this process"* ]]
}

mkdir -p "$headers"
compile
if [ "$link" = yes ]; then link_and_start; fi
