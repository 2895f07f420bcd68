#!/usr/bin/env bash
# Installs what is missing, builds hpcbench and its trainer. A second call takes seconds.
#   scripts/setup.sh                 everything (preset `default`)
#   scripts/setup.sh --runner-only   hpcbench without the trainer and LibTorch (preset `runner`), for login nodes
#   scripts/setup.sh --dependencies  only installs, builds nothing
#   scripts/setup.sh --tests         builds the tests as well, and installs what they need
#   scripts/setup.sh --checks        and what `scripts/test.sh --all` needs: clang, Slurm, a browser
# A LibTorch of your own: HPCBENCH_TORCH_DIR=/path/to/torch scripts/setup.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=default
build=programs
tests=no
checks=no
for argument in "$@"; do
  case "$argument" in
    --runner-only) preset=runner ;;
    --dependencies) build=no ;;
    --tests) tests=yes build=default ;;
    --checks) tests=yes checks=yes build=default ;;
    -h | --help) sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "error: unknown option $argument; see scripts/setup.sh --help" >&2; exit 2 ;;
  esac
done

optional=()
packages=(g++ cmake ninja-build pkg-config libfmt-dev nlohmann-json3-dev libyaml-cpp-dev libsqlitecpp-dev libsqlite3-dev
  libre2-dev libpugixml-dev libutf8proc-dev libkainjow-mustache-dev libboost-dev libboost-program-options-dev libspdlog-dev libxxhash-dev libzstd-dev zlib1g-dev nettle-dev doctest-dev librapidcheck-dev gnuplot-nox)
[ "$preset" = default ] && packages+=(python3 python3-venv)
[ "$tests" = no ] || packages+=(python3-pytest python3-jsonschema python3-yaml zstd)
if [ "$checks" = yes ]; then
  packages+=(clang-16 clang-tidy-16 clang-format-16 libomp-16-dev libclang-rt-16-dev shellcheck)
  # A real Slurm, which tests/slurm starts and stops themselves.
  packages+=(slurmctld slurmd slurm-client slurmdbd munge mariadb-server openmpi-bin python3-mpi4py)
  # Shells whose completion is tested, and what shows manual pages.
  packages+=(zsh fish man-db groff-base)
  # Packages that read results in Python, check its types, and compile LaTeX tables.
  packages+=(python3-pandas python3-matplotlib python3-nbclient python3-ipykernel mypy texlive-latex-base texlive-latex-recommended)
  # A browser, which opens the HTML report; distributions name it differently, and some have none.
  optional=(chromium-headless-shell)
  # A real Grid Engine, which tests/gridengine starts and stops; newer distributions lack it.
  optional+=(gridengine-master gridengine-exec gridengine-client)
fi

is_installed() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }
missing=()
for package in "${packages[@]}"; do is_installed "$package" || missing+=("$package"); done
add_optional() {
  for package in "${optional[@]}"; do
    if ! is_installed "$package" && apt-cache show "$package" > /dev/null 2>&1; then missing+=("$package"); fi
  done
}
[ ${#missing[@]} -gt 0 ] || add_optional
if [ ${#missing[@]} -gt 0 ]; then
  echo "installing ${missing[*]}"
  as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  # Packages installed here must not start their services.
  policy=/usr/sbin/policy-rc.d
  if [ "$checks" = yes ] && [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" > /dev/null
    "${as_root[@]}" chmod 755 "$policy"
    trap '"${as_root[@]}" rm -f "$policy"' EXIT
  fi
  "${as_root[@]}" apt-get update -qq
  absent=()
  for package in "${missing[@]}"; do apt-cache show "$package" > /dev/null 2>&1 || absent+=("$package"); done
  if [ ${#absent[@]} -gt 0 ]; then
    echo "error: there is no package ${absent[*]} here: hpcbench builds on Debian 12 and 13 and on Ubuntu 24.04 (--checks: on Debian 12); docs/install.md has packages that run anywhere" >&2
    exit 3
  fi
  add_optional
  # On a machine that has just started, its own updates hold dpkg's lock for minutes.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o DPkg::Lock::Timeout=600 --no-install-recommends "${missing[@]}" > /dev/null
fi

# A file that includes LibTorch takes up to 2.2 GB to compile: never more jobs than memory carries.
jobs=$(nproc)
memory_jobs=$(($(awk '/MemAvailable/ {print $2}' /proc/meminfo) / 2400000))
[ "$memory_jobs" -ge "$jobs" ] || jobs=$((memory_jobs > 0 ? memory_jobs : 1))

# configure PRESET OPTION...: shows the output if it fails
configure() {
  local said
  said=$(cmake --preset "$@" 2>&1) || { echo "$said" >&2; exit 1; }
}

has_torch() { "$1" -c 'import torch' > /dev/null 2>&1; }
if [ "$preset" = default ] && [ -z "${HPCBENCH_TORCH_DIR:-}" ]; then
  if [ -x .venv/bin/python3 ] && has_torch .venv/bin/python3; then
    python=.venv/bin/python3
  elif has_torch python3; then
    python=python3
  else
    echo "installing torch 2.13.0 into .venv"
    # Only torch's libraries and headers are needed: nothing is compiled to bytecode, which takes longer than unpacking.
    { python3 -m venv .venv && .venv/bin/pip install --quiet --disable-pip-version-check --no-compile 'torch==2.13.0' numpy; } &
    torch=$!
    if [ "$build" != no ]; then  # the runner needs no LibTorch
      configure default -DHPCBENCH_TRAINER=OFF
      cmake --build --preset default --parallel "$jobs" --target hpcbench
    fi
    wait "$torch"
    python=.venv/bin/python3
  fi
  HPCBENCH_TORCH_DIR=$("$python" -c 'from importlib.util import find_spec; print(find_spec("torch").submodule_search_locations[0])')
  export HPCBENCH_TORCH_DIR
fi

# A LibTorch with CUDA lacks some headers that its own require: they are installed into its environment.
if [ "$preset" = default ] && [ -e "$HPCBENCH_TORCH_DIR/lib/libtorch_cuda.so" ]; then
  headers=$(cmake -D TORCH_DIR="$HPCBENCH_TORCH_DIR" -P cmake/CudaHeaders.cmake)
  if [ -n "$headers" ]; then
    # In a site-packages: by the pip of its environment.
    pip=$HPCBENCH_TORCH_DIR/../../../../bin/python3
    if [ -x "$pip" ]; then
      echo "installing CUDA's headers: $headers"
      read -ra words <<< "$headers"
      "$pip" -m pip install --quiet --disable-pip-version-check "${words[@]}"
    else
      echo "error: CUDA's headers are missing; torch's environment needs: pip install $headers" >&2
      exit 1
    fi
  fi
fi

[ "$build" != no ] || exit 0
if [ "$preset" = default ]; then
  configure default -DHPCBENCH_TRAINER=ON "-DHPCBENCH_TORCH_DIR=$HPCBENCH_TORCH_DIR"
  cmake --build --preset "$build" --parallel "$jobs"
else
  configure runner
  cmake --build --preset runner --parallel "$jobs" --target "$([ "$tests" = yes ] && echo all || echo hpcbench)"
fi
echo "built: build/$preset/bin/hpcbench"
