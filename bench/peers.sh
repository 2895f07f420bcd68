#!/usr/bin/env bash
# Makes the Python environment that the benches run in, with the peers of bench/requirements.txt, and prints its interpreter's path. It shares torch and
# numpy with the build if these are installed. JUBE comes from Debian, and is installed where it is missing. A second call takes no time.
#   bench/peers.sh [FOLDER]     FOLDER: build/venv-bench
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/.." && pwd)
folder=${1:-$root/build/venv-bench}

mkdir -p "$(dirname "$folder")"
if [ -e "$folder" ] && [ ! -e "$folder/pyvenv.cfg" ] && [ -n "$(ls -A "$folder")" ]; then
  echo "error: $folder is no Python environment; it is left as it is" >&2
  exit 2
fi
exec 9> "$folder.lock"
flock 9

if ! command -v jube > /dev/null; then
  as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get update -qq >&2
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends jube > /dev/null
fi

python=python3
[ ! -x "$root/.venv/bin/python3" ] || python=$root/.venv/bin/python3
site=$("$python" -c 'import os, numpy, torch; print(os.path.dirname(os.path.dirname(torch.__file__)))' 2> /dev/null) || site=
stamp="$site $(cat "$here/requirements.txt" "$here/requirements-torchvision.txt")"
if [ "$(cat "$folder/stamp" 2> /dev/null)" != "$stamp" ]; then
  rm -rf "$folder"
  "$python" -m venv "$folder" >&2
  pip=("$folder/bin/python3" -m pip install --quiet --disable-pip-version-check)
  if [ -n "$site" ]; then
    # Behind the environment's own packages, so that the pinned ones win; torch counts as installed, pip brings no other one.
    echo "$site" > "$("$folder/bin/python3" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch-of-the-build.pth"
    "${pip[@]}" -r "$here/requirements.txt" >&2 9>&-
    "${pip[@]}" --no-deps -r "$here/requirements-torchvision.txt" >&2 9>&-
  else
    # Without the trainer its peers are not needed either.
    grep -v '^lightning' "$here/requirements.txt" > "$folder/requirements.txt"
    "${pip[@]}" -r "$folder/requirements.txt" >&2 9>&-
  fi
  printf '%s\n' "$stamp" > "$folder/stamp"
fi
echo "$folder/bin/python3"
