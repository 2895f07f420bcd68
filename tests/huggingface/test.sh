#!/usr/bin/env bash
# Runs the comparisons with Hugging Face's packages, all or those whose file name contains one of the words. HPCBENCH_LONG=1: the long form.
#   tests/huggingface/test.sh [NAME...]
# Exit code 77, and the reason as the last line, where the packages are unavailable: nothing was compared.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")" || exit
export PYTHONDONTWRITEBYTECODE='' PYTHONPYCACHEPREFIX=$PWD/../../build/pycache
python=$(./venv.sh "${HPCBENCH_HUGGINGFACE_VENV:-../../build/venv-huggingface}") || exit

files=()
for file in *_test.py; do
  [ $# -eq 0 ] && files+=("$file")
  for word in "$@"; do [[ "$file" == *"$word"* ]] && files+=("$file"); done
done
[ ${#files[@]} -gt 0 ] || { echo "error: no test is called $*" >&2; exit 2; }
exec "$python" -m unittest -v "${files[@]}"
