#!/usr/bin/env bash
# Checks a machine with GPUs: does the trainer start, compute right, notice faults, and how fast is it? Writes one report to send back.
#   scripts/gpu-check.sh [--minutes 10] [--out FOLDER]     builds with the machine's own torch (or .venv's), then measures for so many minutes
#       --programs FOLDER    takes hpcbench and hpcbench-train from there and builds nothing
#       --wheels FOLDER      installs torch and what the build needs from wheels in FOLDER instead of the network
#       --only STEP          one step (may stand several times): facts start parity faults profile collectives speed scaling
#       --cpu                the same on the CPU, to see that the check works
#   scripts/gpu-check.sh --bundle FILE [--programs FOLDER]    packs programs, data and this check (at most 60 MB) for a machine without network:
#       tar -xf FILE && hpcbench-gpu-check/scripts/gpu-check.sh     there, beside a torch of the version that the programs were built for
# Exit code: 0, or 1 if a step failed; the report names it. A step that fails or takes too long does not end the rest.
set -euo pipefail
here=$PWD  # of the caller, whose relative paths begin there
cd "$(dirname "${BASH_SOURCE[0]}")/.."

minutes=10 out=gpu-check programs="" wheels="" bundle="" device=cuda arguments=()
while [ $# -gt 0 ]; do
  case "$1" in
    --minutes | --out | --programs | --wheels | --bundle | --only)
      [ $# -gt 1 ] || { echo "error: $1 needs a value; see scripts/gpu-check.sh --help" >&2; exit 2; }
      value=$2
      case "$1" in --out | --programs | --wheels | --bundle) [[ $2 = /* ]] || value=$here/$2 ;; esac
      case "$1" in
        --minutes) minutes=$2 ;;
        --out) out=$value ;;
        --programs) programs=$value ;;
        --wheels) wheels=$value ;;
        --bundle) bundle=$value ;;
        --only) arguments+=(--only "$2") ;;
      esac
      shift 2 ;;
    --cpu) device=cpu; arguments+=(--cpu); shift ;;
    -h | --help) sed -n '2,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "error: unknown option $1; see scripts/gpu-check.sh --help" >&2; exit 2 ;;
  esac
done
[[ $minutes =~ ^[0-9]+(\.[0-9]+)?$ ]] || { echo "error: --minutes $minutes is no number" >&2; exit 2; }

# The Python whose torch the trainer uses, found by torch's folder: importing it takes long if it has not been read before.
python_with_torch() {
  local python
  for python in ${HPCBENCH_CHECK_PYTHON:-} "$PWD/.venv/bin/python3" python3; do
    [ -n "$(torch_of "$python")" ] && { command -v "$python"; return; }
  done
  return 1
}
torch_of() { "$1" -c 'from importlib.util import find_spec; print((find_spec("torch").submodule_search_locations or [""])[0])' 2> /dev/null; }

[ -n "$programs" ] || [ ! -x bin/hpcbench-train ] || programs=bin  # of a bundle
if [ -z "$programs" ]; then
  if [ -n "$wheels" ]; then
    python3 -m venv .venv
    .venv/bin/pip install --quiet --no-index --find-links "$wheels" torch numpy
  fi
  if python=$(python_with_torch); then
    HPCBENCH_TORCH_DIR=$(torch_of "$python")
    export HPCBENCH_TORCH_DIR
  fi
  scripts/setup.sh
  programs=build/default/bin
fi
for program in hpcbench hpcbench-train; do
  [ -x "$programs/$program" ] || { echo "error: there is no $programs/$program" >&2; exit 3; }
done

if [ -n "$bundle" ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  root=$folder/hpcbench-gpu-check
  mkdir -p "$root/bin" "$root/bench" "$root/tests"
  for program in hpcbench hpcbench-train; do cp "$programs/$program" "$root/bin/" && strip "$root/bin/$program"; done
  # The version of the LibTorch that it is linked with; another minor version has other classes.
  said=$("$programs/hpcbench-train" --version)
  sed -n 's/.*(LibTorch \([0-9]*\.[0-9]*\)\..*/\1/p' <<< "$said" > "$root/bin/libtorch"
  [[ $said == *NCCL* ]] || echo "note: $programs/hpcbench-train is built with a LibTorch for CPUs: on GPUs this bundle can show nothing" >&2
  cp -r templates sites scripts data LICENSE "$root/"
  cp -r bench/gpu_check bench/trainers bench/process.py bench/ports.py "$root/bench/"
  cp -r tests/huggingface "$root/tests/"
  find "$root" -name __pycache__ -prune -exec rm -rf {} +
  tar -C "$folder" -czf "$bundle" hpcbench-gpu-check
  size=$(stat -c %s "$bundle")
  echo "$bundle: $((size / 1000000)) MB"
  [ "$size" -le 60000000 ] || { echo "error: it is larger than 60 MB" >&2; exit 1; }
  exit
fi

if python=$(python_with_torch); then
  export HPCBENCH_CHECK_PYTHON=$python
fi
if [ "$programs" = bin ] && [ -e bin/libtorch ]; then  # built elsewhere: they find the libraries of this machine's torch
  wanted=$(cat bin/libtorch)
  if [ -n "$python" ]; then
    torch=$(torch_of "$python")
    found=$(sed -n "s/^__version__ = '\([0-9]*\.[0-9]*\)\..*/\1/p" "$torch/version.py")
    if [ "$found" != "$wanted" ]; then
      echo "error: this bundle is built for torch $wanted, and that of $python is $found: make one with programs that are built with torch $found, or name a Python with torch $wanted in HPCBENCH_CHECK_PYTHON" >&2
      exit 3
    fi
    libraries=$torch/lib
    for folder in "${torch%/*}"/nvidia/*/lib; do libraries+=:$folder; done
    export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  fi
  if ! said=$(bin/hpcbench-train --version 2>&1); then
    echo "error: this bundle's hpcbench-train does not start here: $(tail -n 1 <<< "$said")${python:+ (torch of $python)}; it needs a Python with torch $wanted (HPCBENCH_CHECK_PYTHON names one)" >&2
    exit 3
  fi
fi
echo "gpu-check on $device, $minutes minutes; report in $out"
exec python3 bench/gpu_check/check.py --programs "$programs" --minutes "$minutes" --out "$out" "${arguments[@]}"
