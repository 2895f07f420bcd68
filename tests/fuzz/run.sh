#!/usr/bin/env bash
# Runs the fuzzers that tests/fuzz/build.sh OUT_DIR made, each that has a folder of seeds in tests/fuzz/corpus, one a core, from seed 1: tests/fuzz/run.sh OUT_DIR SECONDS [NAME...]
# Prints what each one did; the whole log of one that found something. Exit code 1 if any did.
set -euo pipefail

if [[ $# -lt 2 ]]; then
  sed -n '2,3s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
corpora=$(cd "$(dirname "${BASH_SOURCE[0]}")/corpus" && pwd)
out=$1
seconds=$2
shift 2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

names=("$@")
if [[ ${#names[@]} -eq 0 ]]; then
  for seeds in "$corpora"/*/; do names+=("$(basename "$seeds")"); done
fi

# shellcheck disable=SC2317  # xargs calls it
run_one() {
  local name=$1
  local seeds="$corpora/$name" new="$scratch/$name.new" log="$scratch/$name.log"
  local schedule=()
  # Where a program has many features, libFuzzer's own schedule of them takes four fifths of the time.
  case $name in spec | jube) schedule=(-entropic=0) ;; esac
  mkdir -p "$new"
  if "$out/${name}_fuzzer" "${schedule[@]}" -seed=1 -max_total_time="$seconds" -max_len=20000 -rss_limit_mb=4096 -print_final_stats=1 -artifact_prefix="$scratch/$name-" "$new" "$seeds" > "$log" 2>&1; then
    echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs in $seconds s, nothing found"
  else
    tail -n 80 "$log"
    base64 "$scratch/$name"-* 2> /dev/null || true
    echo "FAILED: the fuzzer $name found something: its input stands above (base64)"
    return 1
  fi
}
export -f run_one
export corpora out seconds scratch

status=0
printf '%s\n' "${names[@]}" | xargs -P "$(nproc)" -I NAME bash -c 'run_one NAME' || status=1
echo "Ran ${#names[@]} tests"
exit $status
