#!/usr/bin/env bash
# Runs the tests. Ends with `N passed, N failed`, single tests counted, and with exit code 1 if any failed.
#   scripts/test.sh          sets up and builds, then unit and end-to-end tests (no thorough ones): whether hpcbench works on this machine
#   scripts/test.sh --all    everything: also Slurm, Hugging Face, sanitizers, fuzzers, lint
#   scripts/test.sh --long   all of it in its long form (hours): 5 minutes a fuzzer, 100 fault trials, 200 on Slurm, 50 on Grid Engine, the benches
#   scripts/test.sh NAME...  only the checks whose names contain one of the words
#   scripts/test.sh --list   the names of all checks
# Each check is a test of CTest; CONTRIBUTING.md explains how to run one alone.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

form=quick
words=()
for argument in "$@"; do
  case "$argument" in
    --all | --long | --list) form=${argument#--} ;;
    -h | --help) sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) echo "error: unknown option $argument; see scripts/test.sh --help" >&2; exit 2 ;;
    *) words+=("$argument") ;;
  esac
done

if [ "$form" = list ]; then
  [ -e build/default/CTestTestfile.cmake ] || { echo "error: nothing is configured yet: scripts/setup.sh --tests" >&2; exit 3; }
  ctest --preset default -N | sed -n 's/^ *Test *#[0-9]*: //p'
  exit
fi
packages=--tests
[[ $form != all && $form != long ]] || packages=--checks
long=OFF
[ "$form" != long ] || long=ON
mkdir -p build
logs=$(mktemp -d "$PWD/build/logs.XXXXXX")  # here, so that not even kill -9 leaves a folder elsewhere
child=
# Ending this script ends its children: CTest ends with it, and each check with CTest (tests/check.py).
trap '[ -z "$child" ] || kill -- "-$child" 2> /dev/null; wait; rm -rf "$logs"' EXIT
trap 'exit 1' INT TERM HUP
follow() { setsid setpriv --pdeathsig TERM "$@" < /dev/null & child=$!; wait "$child"; local status=$?; child=; return $status; }

begin=$SECONDS
if ! follow scripts/setup.sh "$packages" > "$logs/setup" 2>&1 || ! follow cmake -DHPCBENCH_LONG_TESTS=$long build/default > "$logs/configure" 2>&1; then
  tail -n 60 "$logs"/*
  echo "error: hpcbench could not be set up and built"
  echo "0 passed, 1 failed"
  exit 1
fi
echo "set up and built in $((SECONDS - begin)) s"

# Checks that compute share the cores; those that wait run beside them.
cores=$(nproc)
echo "{\"version\": {\"major\": 1, \"minor\": 0}, \"local\": [{\"cores\": [{\"id\": \"all\", \"slots\": $cores}]}]}" > "$logs/cores.json"
preset=$form
[ "$form" != long ] || preset=default
choice=()
# When all run at once on a busy machine, one may miss a deadline: it gets a second try, and the summary names it.
[[ $form = quick ]] || choice=(--repeat until-pass:2)
if [ ${#words[@]} -gt 0 ]; then
  preset=default
  choice+=(--tests-regex "$(IFS='|'; echo "${words[*]}")")
fi
touch "$logs/checks"
HPCBENCH_CHECKS=$logs/checks follow ctest --preset "$preset" --parallel $((cores + 4)) --resource-spec-file "$logs/cores.json" "${choice[@]}"
status=$?

grep -a '^skipped ' "$logs/checks" | sort -u
summary=$(awk -v status=$status '/^[^ ]+: [0-9]+ passed, / {
    if ($1 in all) printf "%s a second try: %d failed, %d passed before\n", $1, failing[$1], passing[$1]
    all[$1]; passing[$1] = $2; failing[$1] = $4; skipping[$1] = $6 }
  END { for (name in all) { passed += passing[name]; failed += failing[name]; skipped += skipping[name] }
        if ((status != 0 || passed + skipped == 0) && failed == 0) failed = 1  # a test that was not counted has not passed
        printf "%d passed, %d failed%s\n", passed, failed, skipped ? ", " skipped " skipped" : "" }' "$logs/checks")
echo "$summary"
[[ ${summary##*$'\n'} == *' passed, 0 failed'* ]]
