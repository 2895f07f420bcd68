#!/bin/sh
# Tries an installed hpcbench as its user would, in a folder of its own: a version, a study of a local program, its table. POSIX sh and
# grep are all it needs, so that it runs in the smallest root.
#   scripts/try-program.sh PROGRAM [VERSION]      PROGRAM: a name on PATH or an absolute path; VERSION: what its --version must print
set -eu
program=$1
wanted=${2:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() { echo "error: $program: $1" >&2; exit 1; }

said=$("$program" --version) || fail "it does not start"
[ -z "$wanted" ] || [ "$said" = "$wanted" ] || fail "--version prints $said, not $wanted"

cat > tried.yaml << 'STUDY'
experiment: tried
command: [echo, "took {{size}} s"]
matrix: {size: [1, 2]}
repeats: 3
metrics:
  - {name: took_s, file: stdout.log, pattern: 'took ([0-9.]+) s', unit: s}
report: {metric: took_s, columns: [size, n, median, outcomes]}
STUDY
"$program" run tried.yaml --site local --yes > run.log 2>&1 || { cat run.log >&2; fail "run ends with an error"; }
"$program" report --format csv > report.csv || fail "report ends with an error"
for row in 1,1,3,1 2,1,3,2; do
  grep -q "^${row}[.,].*3 succeeded" report.csv || { cat report.csv >&2; fail "the report has no row $row..."; }
done
"$program" run tried.yaml --site local --yes > again.log 2>&1 || { cat again.log >&2; fail "run ends with an error the second time"; }
grep -q 'nothing to do' again.log || { cat again.log >&2; fail "a second run has something to do"; }
