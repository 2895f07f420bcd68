#!/usr/bin/env bash
# Compiles the trainer's CUDA and NCCL sources with our warnings as errors, against the real headers of CUDA and NCCL, the versions that torch
# itself requires. Needs no GPU, no nvcc and no LibTorch with CUDA.
#   scripts/check-cuda.sh
# Headers that are missing come from NVIDIA's packages for pip, once, into build/cuda-headers (1 GB to download, of which 7 MB stay);
# HPCBENCH_WHEELS may name a folder that has the wheels. The toolkit of CUDA_HOME (/usr/local/cuda) is used if it has the same CUDA version.
# Exit code 77: the packages are not available here. tests/gpu/null_gpu_test.py links and starts the trainer with the real wheel of torch.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1:-}" in
  "") ;;
  -h | --help) sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
  *) echo "error: unknown option $1; see scripts/check-cuda.sh --help" >&2; exit 2 ;;
esac

# The versions that torch 2.13.0 requires.
cuda=13.0.3
nccl=2.29.7
# Laid out like a site-packages, so that cmake/CudaHeaders.cmake finds and misses here the same headers as in a build.
site=$PWD/build/cuda-headers/site

skip() { echo "skipped: $1" >&2; exit 77; }

# unpack REQUIREMENT...: the headers of these packages and of their dependencies, and CUDA's runtime
unpack() {
  local folder status=0
  folder=$(mktemp -d "$PWD/build/cuda-headers/XXXXXX")
  python3 -m pip download --quiet --disable-pip-version-check --no-cache-dir --only-binary=:all: ${HPCBENCH_WHEELS:+--find-links "$HPCBENCH_WHEELS"} \
    -d "$folder" "$@" > "$folder/log" 2>&1 || status=$?
  if [ "$status" -eq 0 ]; then
    python3 - "$folder" "$site" << 'END' || status=$?
import fnmatch, glob, sys, zipfile
folder, into = sys.argv[1:]
for wheel in glob.glob(folder + "/*.whl"):
    with zipfile.ZipFile(wheel) as archive:
        wanted = [name for name in archive.namelist() if fnmatch.fnmatch(name, "nvidia/*/include/*") or fnmatch.fnmatch(name, "nvidia/*/lib/libcudart.so*")]
        archive.extractall(into, wanted)
END
  fi
  [ "$status" -eq 0 ] || tail -n 3 "$folder/log" >&2
  rm -rf "$folder"
  [ "$status" -eq 0 ] || skip "pip cannot download $*"
}

# Prints the packages that a build with this site-packages still lacks, as words for pip.
missing() { cmake -D TORCH_DIR="$site/torch" -P cmake/CudaHeaders.cmake; }

torch_dir() {
  if [ -n "${HPCBENCH_TORCH_DIR:-}" ]; then echo "$HPCBENCH_TORCH_DIR"; return; fi
  local python
  for python in .venv/bin/python3 python3; do
    "$python" -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])' 2> /dev/null && return
  done
  echo "error: there is no LibTorch; run scripts/setup.sh" >&2
  exit 1
}

torch=$(torch_dir)
mkdir -p "$site/torch"
[ -e "$site/nvidia/cu13/include/cuda_runtime_api.h" ] || unpack "cuda-toolkit[cudart]==$cuda"
read -ra packages <<< "$(missing)"
if [ ${#packages[@]} -gt 0 ]; then
  packages=("${packages[@]/%==13.0.\*/==$cuda}")
  unpack "${packages[@]/%nvidia-nccl-cu13/nvidia-nccl-cu13==$nccl}"
  [ -z "$(missing)" ] || { echo "error: with ${packages[*]} a build still misses $(missing)" >&2; exit 1; }
fi
includes=()
for folder in "$site"/nvidia/*/include "$site"/nvidia/*/include/cccl; do
  [ ! -d "$folder" ] || includes+=(-isystem "$folder")
done
# As in CudaHeaders.cmake: a toolkit complements the packages only if it has the same version.
toolkit=${CUDA_HOME:-/usr/local/cuda}/include
if grep -qs 'define *CUDART_VERSION *13000' "$toolkit/cuda_runtime_api.h"; then includes+=(-isystem "$toolkit" -isystem "$toolkit/cccl"); fi

# One unit, as in the build: LibTorch's headers are read once. A LibTorch for CPUs lacks one header that its build generates for CUDA
# (symbol export on Windows): its own switch omits it.
sources=()
for source in trainers/devices/cuda_*.cpp; do [ "$source" = trainers/devices/cuda_absent.cpp ] || sources+=("$source"); done
unit=build/cuda-headers/unit.cpp
printf '#include "%s"\n' "${sources[@]/#/$PWD/}" > "$unit"
${CXX:-g++} -std=c++20 -fopenmp -fsyntax-only -Wall -Wextra -Wpedantic -Werror -DUSE_C10D_NCCL -DUSE_C10D_GLOO -DUSE_DISTRIBUTED \
  -DC10_CUDA_NO_CMAKE_CONFIGURE_FILE -Itrainers -Ishared -isystem "$torch/include" -isystem "$torch/include/torch/csrc/api/include" \
  -isystem trainers/gloo_headers "${includes[@]}" "$unit"
echo "compiled: ${sources[*]} (headers of CUDA $cuda, NCCL $nccl)"
