#!/usr/bin/env bash
# Makes the Python environment that the comparisons with Hugging Face run in, and prints its interpreter's path. It shares torch
# and numpy with the build; the rest is pinned in requirements.txt. A second call takes no time; several at once wait for the first.
#   tests/huggingface/venv.sh [--peers] [FOLDER]     FOLDER: build/venv-huggingface; --peers: also what the benches compare with
# Exit code 77, and the reason on standard error: it cannot be had here (no torch, no package index), so skip what needs it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

peers=no
folder=$root/build/venv-huggingface
for argument in "$@"; do
  case "$argument" in
    --peers) peers=yes ;;
    -h | --help) sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) echo "error: unknown option $argument; see tests/huggingface/venv.sh --help" >&2; exit 2 ;;
    *) folder=$argument ;;
  esac
done
skip() { echo "skipped: $1" >&2; exit 77; }

mkdir -p "$(dirname "$folder")"
folder=$(cd "$(dirname "$folder")" && pwd)/$(basename "$folder")
if [ -e "$folder" ] && [ ! -e "$folder/pyvenv.cfg" ] && [ -n "$(ls -A "$folder")" ]; then
  echo "error: $folder is no Python environment; it is left as it is" >&2
  exit 2
fi
# One at a time; the lock stands beside the folder, which may be made anew.
exec 9> "$folder.lock"
flock 9

python=python3
[ ! -x "$root/.venv/bin/python3" ] || python=$root/.venv/bin/python3
find_site='import os, sys
sys.path[:0] = [os.path.dirname(folder) for folder in sys.argv[1:] if folder]
import numpy, torch
print(os.path.dirname(os.path.dirname(torch.__file__)))'
site=$("$python" -c "$find_site" "${HPCBENCH_TORCH_DIR:-}" 2> /dev/null) || skip "no Python with torch and numpy: scripts/setup.sh brings them"

requirements=(-r "$here/requirements.txt")
stamp="$site $(cat "$here/requirements.txt")"
[ "$peers" = no ] || requirements+=(-r "$here/requirements-peers.txt")
have() { [ -x "$folder/bin/python3" ] && [ "$(cat "$folder/$1" 2> /dev/null)" = "$2" ]; }
peers_stamp="$stamp $(cat "$here/requirements-peers.txt")"

if ! have stamp "$stamp"; then
  rm -rf "$folder"
  "$python" -m venv "$folder" > "$folder.log" 2>&1 || skip "python3 -m venv does not work: $(tail -n 1 "$folder.log")"
  # Behind the environment's own packages, so that the pinned ones win.
  echo "$site" > "$("$folder/bin/python3" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch-of-the-build.pth"
elif [ "$peers" = no ] || have stamp-peers "$peers_stamp"; then
  echo "$folder/bin/python3"
  exit 0
fi
# `.pth` files make torch count as installed: pip brings no other one.
if ! "$folder/bin/python3" -m pip install --quiet --disable-pip-version-check --retries 2 --timeout 30 "${requirements[@]}" > "$folder.log" 2>&1 9>&-; then
  cat "$folder.log" >&2
  if grep -qE 'NewConnectionError|ConnectTimeout|ReadTimeout|ProxyError|SSLError|Max retries|Temporary failure in name|Connection (refused|reset)' "$folder.log"; then
    skip "the Python packages cannot be downloaded here"
  fi
  echo "error: pip could not install $here/requirements.txt" >&2
  exit 1
fi
printf '%s\n' "$stamp" > "$folder/stamp"
[ "$peers" = no ] || printf '%s\n' "$peers_stamp" > "$folder/stamp-peers"
rm -f "$folder.log"
echo "$folder/bin/python3"
