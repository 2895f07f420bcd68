#!/usr/bin/env bash
# Measures the runner side by side with what a person would use instead, on the same machine in the same minutes.
#   bench/run.sh [--quick] [--folder DIR]     prints a table: work, measured, bound; exit code 1 if a bound is not met
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ -x build/default/bin/hpcbench ] || scripts/setup.sh
cmake --build --preset default --target store_bench > /dev/null
exec python3 bench/runner_bench.py "$@"
