#!/usr/bin/env bash
# Runs every check. Ends with `N passed, N failed`, and with exit code 1 if any failed.
#   scripts/test.sh          the short form: fixed seeds, 20 s a fuzzer, 20 fault trials here, 12 on Slurm
#   scripts/test.sh --long   5 minutes a fuzzer, 100 fault trials, 200 on Slurm, the benches
#   scripts/test.sh NAME...  only the steps whose name contains one of the words (see --list)
# A check that hangs is interrupted after 15 minutes (a build: 40), and fails; the others go on.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

long=no
only=()
for argument in "$@"; do
  case "$argument" in
    --long) long=yes ;;
    --list) grep -oE '^ *(slurm_|huggingface_)?step [a-z0-9_-]+' "${BASH_SOURCE[0]}" | sed 's/.* //'; exit 0 ;;
    -h | --help) sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) echo "error: unknown option $argument; see scripts/test.sh --help" >&2; exit 2 ;;
    *) only+=("$argument") ;;
  esac
done

passed=0
failed=0
skipped=0
failures=()
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
jobs=$(nproc)
export RC_PARAMS="seed=20261121"       # rapidcheck draws the same cases each time
export PYTHONDONTWRITEBYTECODE=1
# A user's own site file must not change what is tested.
export XDG_CONFIG_HOME="$logs/config"

wanted() {
  [ ${#only[@]} -eq 0 ] && return 0
  local word
  for word in "${only[@]}"; do [[ "$1" == *"$word"* ]] && return 0; done
  return 1
}

# How many tests a log tells of: doctest's and unittest's own counts, else one a step.
count() {
  local cases
  cases=$(grep -aoE 'test cases: +[0-9]+ +\| +[0-9]+ passed' "$1" | awk '{total += $(NF-1)} END {print total + 0}')
  [ "$cases" -gt 0 ] || cases=$(grep -aoE '^Ran [0-9]+ test' "$1" | awk '{total += $2} END {print total + 0}')
  [ "$cases" -gt 0 ] || cases=1
  echo "$cases"
}

# unittest's own words for what it skipped, a test or the setUpClass of several.
tell_skipped() {
  local line
  while read -r line; do
    skipped=$((skipped + 1))
    echo "        skipped $line"
  done < <(sed -nE "s/^(.*) \.\.\. skipped '(.*)'$/\1: \2/p" "$1")
}

# How long a check may take: one that hangs fails, and does not keep the others from running. Most take seconds; those that build
# or download wait for other machines.
limit_s() {
  [ "$long" = no ] || { echo 14400; return; }
  case $1 in
    setup | asan-build | tidy) echo 2400 ;;
    *) echo 900 ;;
  esac
}

# within SECONDS COMMAND...: interrupts a command that takes longer, so that it cleans up and tells where it was; then kills it.
within() { timeout --signal=INT --kill-after=60 "$1" bash -c '"$@"' within "${@:2}"; }

# step NAME COMMAND...: runs one check, its output into a log that is shown if it fails.
step() {
  local name=$1 start=$SECONDS log="$logs/$1.log" limit
  shift
  wanted "$name" || return 0
  limit=$(limit_s "$name")
  if within "$limit" "$@" > "$log" 2>&1 < /dev/null; then
    passed=$((passed + $(count "$log") - $(grep -a ' \.\.\. skipped ' "$log" | grep -vc '^setUpClass')))
    echo "ok      $name ($((SECONDS - start)) s)"
    tell_skipped "$log"
  else
    failed=$((failed + 1))
    failures+=("$name")
    echo "FAILED  $name ($((SECONDS - start)) s$([ $((SECONDS - start)) -lt "$limit" ] || echo ", stopped since it took longer than $limit s")); the end of its output:"
    grep -aE 'ERROR|FAILED|FAIL:|error:|Error|warning:' "$log" | head -n 40 | sed 's/^/        ! /'
    tail -n 60 "$log" | sed 's/^/        | /'
  fi
}

# show FILE's last lines after a step that measures something
show() { [ -f "$logs/$1.log" ] && tail -n "$2" "$logs/$1.log" | sed 's/^/        /'; }

setup() { HPCBENCH_CHECK_PACKAGES=1 scripts/setup.sh; }
formatted() { git ls-files '*.cpp' '*.hpp' | xargs clang-format-16 --dry-run -Werror; }
shell_scripts() { git ls-files '*.sh' .ci/run | xargs shellcheck; }
unit() { "build/default/bin/test_$1"; }
end_to_end() { python3 -m unittest -v "$1"; }
build_asan() { cmake --preset asan && cmake --build --preset asan --parallel "$jobs"; }
asan_unit() {
  local test status=0
  for test in build/asan/bin/test_*; do "$test" || { echo "FAILED: $test"; status=1; }; done
  return $status
}
build_fuzzers() { tests/fuzz/build.sh build/fuzz; }
fuzz() {
  local seconds=20
  [ "$long" = yes ] && seconds=300
  tests/fuzz/run.sh build/fuzz $seconds
}
tidy() {
  # Each stage is one unit: clang-tidy reads its headers once. Of the trainer, what is without LibTorch.
  find build/default/runner build/default/trainers/CMakeFiles/hpcbench_{squad,trainer_base}.dir -name 'unity_0_cxx.cxx' -print0 |
    xargs -0 -n 1 -P "$jobs" clang-tidy-16 --quiet --config-file=.clang-tidy -p build/default --header-filter="$PWD/(runner|trainers)/.*"
}
# Starts and stops a cluster. 77: there is no Slurm here, `slurm-reason` says what is missing.
slurm_works() {
  local folder status=0
  folder=$(mktemp -d -p /tmp)
  tests/slurm/cluster.sh start "$folder/cluster" 2> "$logs/slurm-reason" || status=$?
  tests/slurm/cluster.sh stop "$folder/cluster" 2> /dev/null
  rm -rf "$folder"
  return $status
}
slurm_faults() {
  local trials=12 arguments=()
  [ "$long" = yes ] && trials=200 && arguments=(--long)
  python3 tests/slurm/fault_trials.py --trials $trials --seed 1 --clusters 2 "${arguments[@]}"
}
# Only a Slurm that is not installed, or not for us, is a reason to skip; one that does not start is a failure.
slurm_step() {
  if ! wanted "$1"; then return; fi
  if [ -z "${slurm_checked:-}" ]; then slurm_works; slurm_checked=$?; fi
  case $slurm_checked in
    0) step "$@" ;;
    77)
      skipped=$((skipped + 1))
      echo "skipped $1: $(tail -n 1 "$logs/slurm-reason")"
      ;;
    *) step "$1" slurm_did_not_start "$slurm_checked" ;;
  esac
}
slurm_did_not_start() {
  echo "error: tests/slurm/cluster.sh start ended with $1:"
  cat "$logs/slurm-reason"
  return 1
}
strategy_faults() {
  local arguments=()
  [ "$long" = yes ] && arguments=(--long)
  python3 tests/trainers/strategies/fault_trials.py build/default/bin "${arguments[@]}"
}
# Comparisons with Hugging Face's packages, which are installed into build/venv-huggingface. 77: they cannot be had here.
huggingface_step() {
  wanted "$1" || return 0
  if [ -z "${huggingface_checked:-}" ]; then
    huggingface_checked=0
    within 900 tests/huggingface/venv.sh > /dev/null 2> "$logs/huggingface-reason" || huggingface_checked=$?
  fi
  if [ "$huggingface_checked" -ne 77 ]; then step "$1" tests/huggingface/test.sh "${1#huggingface-}"; return; fi
  skipped=$((skipped + 1))
  echo "skipped $1: $(tail -n 1 "$logs/huggingface-reason")"
}
# CUDA's sources against CUDA's and NCCL's headers. 77: these cannot be had here.
cuda_step() {
  wanted cuda-compile || return 0
  local status=0
  within 900 scripts/check-cuda.sh > "$logs/cuda-compile" 2>&1 || status=$?
  if [ $status -ne 77 ]; then step cuda-compile told "$logs/cuda-compile" $status; return; fi
  skipped=$((skipped + 1))
  echo "skipped cuda-compile: $(tail -n 1 "$logs/cuda-compile")"
}
told() { cat "$1"; return "$2"; }
fault_trials() {
  local trials=20
  [ "$long" = yes ] && trials=100
  python3 tests/e2e/fault_trials.py --trials $trials --seed 1
}

[ "$long" = no ] || export HPCBENCH_LONG=1
# `within` runs a check, which may be a function of this file, in a shell of its own.
export long logs jobs
while read -r _ _ function; do export -f "${function?}"; done < <(declare -F)
step setup setup
step format formatted
step shell shell_scripts
step arrows python3 tests/arch/check_arrows.py
for program in build/default/bin/test_*; do
  step "unit-$(basename "$program" | cut -c6-)" unit "$(basename "$program" | cut -c6-)"
done
# BERT's kernels, and the products of its layers, for other processors. In `default` LibTorch's own plain operators round some gradients in fp32 beyond 1e-5.
step bert-avx2 env ATEN_CPU_CAPABILITY=avx2 build/default/bin/test_bert
step bert-generic env ATEN_CPU_CAPABILITY=default build/default/bin/test_bert -tce='*every gradient are those of transformers'
step strategy-faults strategy_faults
step strategy-matrix build/default/bin/strategy_matrix
step e2e-study end_to_end tests/e2e/study_test.py
step e2e-command-line end_to_end tests/e2e/command_line_test.py
step e2e-hostile end_to_end tests/e2e/hostile_test.py
step e2e-fault-trials fault_trials
step e2e-watch end_to_end tests/e2e/watch_test.py
step e2e-report end_to_end tests/e2e/report_test.py
step e2e-page end_to_end tests/e2e/page_test.py
step e2e-doctor end_to_end tests/e2e/doctor_test.py
step e2e-ingest end_to_end tests/e2e/ingest_test.py
step e2e-get-data end_to_end tests/e2e/get_data_test.py
step e2e-demo end_to_end tests/e2e/demo_test.py
step e2e-squad end_to_end tests/e2e/squad_test.py
step e2e-compare end_to_end tests/e2e/compare_test.py
step e2e-labs end_to_end tests/e2e/labs_test.py
step e2e-export end_to_end tests/e2e/export_test.py
step e2e-names end_to_end tests/e2e/names_test.py
step e2e-example end_to_end tests/e2e/example_test.py
step bench-agree end_to_end tests/bench/agree_test.py
step bench-study end_to_end tests/bench/study_test.py
step bench-kept end_to_end tests/bench/kept_test.py
step bench-suites end_to_end tests/bench/suites_test.py
step bench-trainers end_to_end tests/bench/trainers_test.py
huggingface_step huggingface-golden
huggingface_step huggingface-tokenizer
huggingface_step huggingface-score
huggingface_step huggingface-training
huggingface_step huggingface-evaluation
huggingface_step huggingface-tensorboard
slurm_step slurm-cluster end_to_end tests/slurm/cluster_test.py
slurm_step slurm-studies end_to_end tests/slurm/slurm_test.py
slurm_step slurm-outcomes end_to_end tests/slurm/outcome_test.py
slurm_step slurm-watch end_to_end tests/slurm/watch_test.py
slurm_step slurm-faults slurm_faults
cuda_step
step asan-build build_asan
step asan-unit asan_unit
step fuzz-build build_fuzzers
step fuzz-run fuzz
step tidy tidy
if [ "$long" = yes ]; then
  step bench bench/run.sh runner local reports roofs --quick
  show bench 40
  slurm_step bench-slurm bench/run.sh slurm
  show bench-slurm 9
  show e2e-fault-trials 5
  show slurm-faults 5
  show fuzz-spec 8
  show fuzz-ingest 8
  show fuzz-slurm 8
  show fuzz-safetensors 8
  show fuzz-archive 8
fi

[ $failed -eq 0 ] || printf 'failed: %s\n' "${failures[*]}"
echo "$passed passed, $failed failed$([ $skipped -eq 0 ] || echo ", $skipped skipped")"
[ $failed -eq 0 ]
