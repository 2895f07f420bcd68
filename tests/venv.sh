#!/usr/bin/env bash
# Makes a Python environment for tests, once, and prints its interpreter's path. A second call takes no time; several at once wait for the first.
#   tests/venv.sh [--torch] FOLDER REQUIREMENTS...    --torch: it shares torch and numpy with the build
# A further file of REQUIREMENTS adds to an environment that was made without it.
# Exit code 77, and the reason on standard error: the environment is unavailable here (no torch, no package index); skip its tests.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

torch=no
words=()
for argument in "$@"; do
  case "$argument" in
    --torch) torch=yes ;;
    -h | --help) sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) echo "error: unknown option $argument; see tests/venv.sh --help" >&2; exit 2 ;;
    *) words+=("$argument") ;;
  esac
done
[ ${#words[@]} -ge 2 ] || { echo "error: tests/venv.sh needs a folder and a file of requirements; see --help" >&2; exit 2; }
folder=${words[0]}
files=("${words[@]:1}")
skip() { echo "skipped: $1" >&2; exit 77; }

mkdir -p "$(dirname "$folder")"
folder=$(cd "$(dirname "$folder")" && pwd)/$(basename "$folder")
if [ -e "$folder" ] && [ ! -e "$folder/pyvenv.cfg" ] && [ -n "$(ls -A "$folder")" ]; then
  echo "error: $folder is no Python environment; it is left as it is" >&2
  exit 2
fi
# One at a time; the lock is beside the folder, because the folder may be created again.
exec 9> "$folder.lock"
flock 9

python=python3
site=
if [ "$torch" = yes ]; then
  [ ! -x "$root/.venv/bin/python3" ] || python=$root/.venv/bin/python3
  find_site='import os, sys
sys.path[:0] = [os.path.dirname(folder) for folder in sys.argv[1:] if folder]
import numpy, torch
print(os.path.dirname(os.path.dirname(torch.__file__)))'
  site=$("$python" -c "$find_site" "${HPCBENCH_TORCH_DIR:-}" 2> /dev/null) || skip "no Python with torch and numpy: scripts/setup.sh brings them"
fi

# stamp-N records the requirements that were installed for the first N files.
stamps=()
requirements=()
text=$site
for file in "${files[@]}"; do
  text+=" $(cat "$file")"
  stamps+=("$text")
  requirements+=(-r "$file")
done
have() { [ -x "$folder/bin/python3" ] && [ "$(cat "$folder/stamp-$1" 2> /dev/null)" = "${stamps[$1 - 1]}" ]; }

if ! have 1; then
  rm -rf "$folder"
  "$python" -m venv "$folder" > "$folder.log" 2>&1 || skip "python3 -m venv does not work: $(tail -n 1 "$folder.log")"
  # Behind the environment's own packages, so that the pinned ones win.
  [ -z "$site" ] || echo "$site" > "$("$folder/bin/python3" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch-of-the-build.pth"
elif have ${#files[@]}; then
  echo "$folder/bin/python3"
  exit 0
fi
# `.pth` files make torch count as installed: pip brings no other one.
if ! "$folder/bin/python3" -m pip install --quiet --disable-pip-version-check --retries 2 --timeout 30 "${requirements[@]}" > "$folder.log" 2>&1 9>&-; then
  cat "$folder.log" >&2
  if grep -qE 'NewConnectionError|ConnectTimeout|ReadTimeout|ProxyError|SSLError|Max retries|Temporary failure in name|Connection (refused|reset)' "$folder.log"; then
    skip "the Python packages cannot be downloaded here"
  fi
  echo "error: pip could not install ${files[*]}" >&2
  exit 1
fi
for number in "${!stamps[@]}"; do printf '%s\n' "${stamps[$number]}" > "$folder/stamp-$((number + 1))"; done
rm -f "$folder.log"
echo "$folder/bin/python3"
