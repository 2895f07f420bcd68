#!/usr/bin/env bash
# Saves a state after each of two steps. The second repeat ends after the first step and asks to be continued.
dir=$1 n=$2 repeat=$3
step=$(cat "$HPCBENCH_RESUME_FROM/state" 2>/dev/null || echo 0)
while [ "$step" -lt 2 ]; do
  step=$((step + 1))
  printf '{"v":1,"t":%s,"rank":0,"event":"step","step":%s,"step_s":0.5}\n' "$(date +%s)" "$step" >> "$dir/events.jsonl"
  echo "$step" > "$dir/state"
  if [ "$step" = 1 ] && [ "$repeat" = 2 ]; then
    while [ -e "hold.$n" ]; do sleep 0.1; done
    exit 85
  fi
done
mkdir -p "$dir/parts"
echo "value $n.$repeat"
printf 'cost\n1\n%s\n' "$n$repeat" > "$dir/costs.csv"
for part in 1 2; do printf 'size\n%s\n' "$part" > "$dir/parts/$part.csv"; done
printf '{"v":1,"t":%s,"rank":0,"event":"run_end","train_s":%s}\n' "$(date +%s)" "$n.25" >> "$dir/events.jsonl"
