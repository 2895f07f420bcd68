#!/bin/bash
# Stands in for `hpcbench launch FOLDER`: claims the attempt, runs `bash FOLDER/job.sh`, writes finished.json last. On SIGTERM it ends its
# process and prints `cancelled`.
[ "$1" = launch ] || exit 2
cd "$2" || exit 2
stat=$(< /proc/$$/stat)
read -ra fields <<< "${stat##*) }"
set -o noclobber
{
  printf 'token %s\njob %s\nhost %s\nboot_id %s\npid %s\nstart_ticks %s\n' "$HPCBENCH_TOKEN" "$$" "$(uname -n)" \
    "$(< /proc/sys/kernel/random/boot_id)" "$$" "${fields[19]}" > claim
} 2> /dev/null || exit 0
set +o noclobber
unset HPCBENCH_TOKEN
export HPCBENCH_RUN="$2/run.json" HPCBENCH_RUN_DIR="$2/out"
mkdir -p out
cancelled=false
child=
trap 'cancelled=true; [ -z "$child" ] || kill "$child"' TERM
bash ./job.sh > stdout.log 2> stderr.log &
child=$!
[ "$cancelled" = false ] || kill "$child"
wait "$child"
code=$?
while kill -0 "$child" 2> /dev/null; do wait "$child"; done
printf '{"schema":1,"exit_code":%s,"cancelled":%s}' "$code" "$cancelled" > finished.json.tmp
mv finished.json.tmp finished.json
exit "$code"
