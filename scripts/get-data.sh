#!/usr/bin/env bash
# Brings the full data sets and the pretrained weights from their official homes, on a machine with internet access.
#   scripts/get-data.sh [OPTION...] [SET...]
# Sets (all if none is named):
#   squad1  SQuAD 1.1   data/squad1/{train,dev}-v1.1.json               35 MB  CC BY-SA 4.0
#   squad2  SQuAD 2.0   data/squad2/{train,dev}-v2.0.json               46 MB  CC BY-SA 4.0
#   mnist   MNIST       data/mnist-full/{train,t10k}-*-ubyte.gz         12 MB  CC BY-SA 3.0
#   bert    bert-base-uncased  data/bert-base-uncased/model.safetensors, config.json and vocab.txt  441 MB  Apache 2.0
# Options:
#   --to FOLDER   another folder than data/
#   --check       download nothing, only check what is there
#   --list        print each file, its address and checksum: to bring them by other means, for a machine without internet access
# A file is there whole, with the published checksum, or not at all: what was cut off stands beside it as FILE.part, and another
# call continues it. HPCBENCH_DATA_MIRROR=URL takes every file from URL/FILE (FILE as --list prints it) instead.
# Then, for example:
#   hpcbench-train run --task bert_squad --data data/squad2 --model data/bert-base-uncased --preset huggingface --epochs 2
#   hpcbench-train run --task mnist_rnn --data data/mnist-full
# Exit codes: 0 all files are there and whole, 1 some are not, 2 the arguments are wrong.
set -uo pipefail

help() { sed -n '2,/^set -uo/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; }

squad=https://rajpurkar.github.io/SQuAD-explorer/dataset
# A copy that torchvision uses, too: the original home (yann.lecun.com) no longer answers reliably.
mnist=https://ossci-datasets.s3.amazonaws.com/mnist
bert=https://huggingface.co/google-bert/bert-base-uncased/resolve/86b5e0934494bd15c9632b12f734a8a67f723594

# set, file, address, checksum (kind:value; json: without a published one, whole JSON of a BERT)
files=(
  "squad1 squad1/train-v1.1.json $squad/train-v1.1.json sha256:3527663986b8295af4f7fcdff1ba1ff3f72d07d61a20f487cb238a6ef92fd955"
  "squad1 squad1/dev-v1.1.json $squad/dev-v1.1.json sha256:95aa6a52d5d6a735563366753ca50492a658031da74f301ac5238b03966972c9"
  "squad2 squad2/train-v2.0.json $squad/train-v2.0.json sha256:68dcfbb971bd3e96d5b46c7177b16c1a4e7d4bdef19fb204502738552dede002"
  "squad2 squad2/dev-v2.0.json $squad/dev-v2.0.json sha256:80a5225e94905956a6446d296ca1093975c4d3b3260f1d6c8f68bc2ab77182d8"
  "mnist mnist-full/train-images-idx3-ubyte.gz $mnist/train-images-idx3-ubyte.gz md5:f68b3c2dcbeaaa9fbdd348bbdeb94873"
  "mnist mnist-full/train-labels-idx1-ubyte.gz $mnist/train-labels-idx1-ubyte.gz md5:d53e105ee54ea40749a09fcbcd1e9432"
  "mnist mnist-full/t10k-images-idx3-ubyte.gz $mnist/t10k-images-idx3-ubyte.gz md5:9fb629c4189551a2d022fa330f9573f3"
  "mnist mnist-full/t10k-labels-idx1-ubyte.gz $mnist/t10k-labels-idx1-ubyte.gz md5:ec29112dd5afa0611ce80d1b7f02629c"
  "bert bert-base-uncased/model.safetensors $bert/model.safetensors sha256:68d45e234eb4a928074dfd868cead0219ab85354cc53d20e772753c6bb9169d3"
  "bert bert-base-uncased/config.json $bert/config.json json:bert"
  "bert bert-base-uncased/vocab.txt $bert/vocab.txt sha256:07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
)
sets=" squad1 squad2 mnist bert "

to=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/data
action='get'
wanted=" "
while [ $# -gt 0 ]; do
  case "$1" in
    -h | --help) help; exit 0 ;;
    --check) action=check ;;
    --list) action=list ;;
    --to)
      [ $# -ge 2 ] || { echo "error: --to wants a folder" >&2; exit 2; }
      to=$2
      shift
      ;;
    -*) echo "error: unknown option $1; see scripts/get-data.sh --help" >&2; exit 2 ;;
    *)
      [[ "$sets" == *" $1 "* ]] || { echo "error: there is no set $1; there are:$sets" >&2; exit 2; }
      wanted+="$1 "
      ;;
  esac
  shift
done
[ "$wanted" != " " ] || wanted=$sets

# is_whole FILE CHECKSUM
is_whole() {
  case "$2" in
    sha256:*) [ "$(sha256sum <"$1" | cut -d' ' -f1)" = "${2#*:}" ] ;;
    md5:*) [ "$(md5sum <"$1" | cut -d' ' -f1)" = "${2#*:}" ] ;;
    json:*) [ "$(tr -d ' \n\r\t' <"$1" | head -c 1)" = "{" ] && [ "$(tr -d ' \n\r\t' <"$1" | tail -c 1)" = "}" ] &&
      grep -q '"model_type": *"bert"' "$1" ;;
  esac
}

# download URL PART: continues at the end of PART
download() {
  if command -v curl >/dev/null; then
    curl --fail --location --retry 3 --connect-timeout 30 --continue-at - --output "$2" --silent --show-error "$1"
  elif command -v wget >/dev/null; then
    wget --continue --tries=4 --timeout=30 --no-verbose --output-document="$2" "$1"
  else
    echo "error: neither curl nor wget is installed" >&2
    return 1
  fi
}

# get FILE URL CHECKSUM
get() {
  local file=$to/$1 part=$to/$1.part
  if [ -e "$file" ]; then
    is_whole "$file" "$3" && { echo "ok       $file"; return 0; }
    echo "error: $file is not what was published (cut off, or changed): move it away, and call again" >&2
    return 1
  fi
  if [ "$action" = check ]; then
    echo "error: $file is not there" >&2
    return 1
  fi
  mkdir -p "$(dirname "$file")" || return 1
  if ! { [ -e "$part" ] && is_whole "$part" "$3"; }; then
    echo "getting  $2"
    if ! download "$2" "$part"; then
      echo "error: $2 could not be downloaded$([ ! -e "$part" ] || echo "; the part so far is in $part")" >&2
      return 1
    fi
  fi
  if ! is_whole "$part" "$3"; then
    rm -f "$part"
    echo "error: $2 does not give what was published ($3); it was thrown away" >&2
    return 1
  fi
  mv "$part" "$file" && echo "ok       $file"
}

failed=0
for row in "${files[@]}"; do
  read -r set file url checksum <<<"$row"
  [[ "$wanted" == *" $set "* ]] || continue
  [ -z "${HPCBENCH_DATA_MIRROR:-}" ] || url=${HPCBENCH_DATA_MIRROR%/}/$file
  if [ "$action" = list ]; then
    [[ "$checksum" == json:* ]] && checksum=-
    printf '%s %s %s\n' "$file" "$url" "$checksum"
  else
    get "$file" "$url" "$checksum" || failed=1
  fi
done
exit "$failed"
