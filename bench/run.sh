#!/usr/bin/env bash
# Measures hpcbench side by side with what people use instead, on the same machine in the same minutes; prints one table: work, ours, theirs, ratio with its
# interval, target, verdict, peak memory. The studies are experiments of hpcbench, and the statistics its own.
#   bench/run.sh [runner|local|slurm|blocks|trainers|reports|roofs|all] [--quick] [--repeats N] [--save FILE] [--markdown]
#       --save FILE: every row is kept as it is measured, the studies meanwhile in FILE.data; the same command continues after an interruption
#   bench/run.sh --check-against FILE ...     also: do these figures agree with a table that was kept? (Holm over the rows)
#   bench/run.sh trainers [--only WORD]... [--size small|base]...     only rows whose work has the word, only BERT of that size
#   bench/run.sh --saved FILE... [--markdown] [--save FILE] [--document FILE] [--check-against FILE]     prints, puts together or compares tables that were kept
# Exit code 1 if a target is not met (not with --quick) or a row differs, 2 if something could not be measured or --save names another
# command's table. Peers: bench/peers.sh, tests/huggingface/venv.sh --peers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
case " $* " in
  *" --help "* | *" -h "*) exec python3 bench/run.py --help ;;
  *" --saved "*) exec python3 bench/run.py "$@" ;;
esac
if [ -z "${HPCBENCH_PROGRAMS:-}" ]; then
  [ -x build/default/bin/hpcbench ] || scripts/setup.sh
  # The measured programs are built from this tree: the table names the commit.
  targets=(hpcbench store_bench roofs)
  [ ! -x build/default/bin/hpcbench-train ] || targets+=(hpcbench-train)
  cmake --build --preset default --parallel "$(nproc)" --target "${targets[@]}" > /dev/null
fi
python=$(bench/peers.sh)
exec "$python" bench/run.py "$@"
