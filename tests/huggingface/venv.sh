#!/usr/bin/env bash
# Makes the Python environment that the comparisons with Hugging Face run in, as tests/venv.sh does, and prints its interpreter's path.
#   tests/huggingface/venv.sh [--peers] [FOLDER]     FOLDER: build/venv-huggingface; --peers: also what the benches compare with
# Exit code 77, and the reason on standard error: the environment is unavailable here; skip its tests.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

folder=$here/../../build/venv-huggingface
files=("$here/requirements.txt")
for argument in "$@"; do
  case "$argument" in
    --peers) files+=("$here/requirements-peers.txt") ;;
    -h | --help) sed -n '2,4s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) echo "error: unknown option $argument; see tests/huggingface/venv.sh --help" >&2; exit 2 ;;
    *) folder=$argument ;;
  esac
done
exec "$here/../venv.sh" --torch "$folder" "${files[@]}"
