#!/usr/bin/env bash
# Measures the runner side by side with what a person would use instead, on the same machine in the same minutes.
#   bench/run.sh [--quick] [--folder DIR]     prints a table: work, measured, bound; exit code 1 if a bound is not met
#   bench/run.sh slurm [--pairs N] [--bare]   1,000 runs on a real Slurm of its own, against an array written by hand
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ -x "${HPCBENCH_PROGRAMS:-build/default/bin}/hpcbench" ] || scripts/setup.sh
if [ "${1-}" = slurm ]; then
  exec python3 bench/slurm_bench.py "${@:2}"
fi
cmake --build --preset default --target store_bench > /dev/null
exec python3 bench/runner_bench.py "$@"
