#!/usr/bin/env bash
# Tries the packages of scripts/release.sh in fresh roots of other distributions, without a network, as users install them: dpkg, pip, tar.
#   scripts/release-roots.sh [--out FOLDER] [--wheels FOLDER] [DISTRIBUTION/SUITE...]      --out: build/release
# The trainer's wheel needs torch: --wheels has that for CPUs, and what it requires, for the Pythons of the roots (`pip download`). Where
# the root's glibc is too old for the trainer's wheel, pip must refuse it.
# Without suites: those below. debootstrap makes each root, with its default mirrors or those of DEBIAN_MIRROR and UBUNTU_MIRROR. Ubuntu's
# keys: UBUNTU_KEYRING, this machine's package ubuntu-keyring, or that of a Debian root made before. Untried packages are named as skipped.
set -euo pipefail
shopt -s nullglob
cd "$(dirname "${BASH_SOURCE[0]}")/.."

out=build/release
wheels=
suites=()
while [ $# -gt 0 ]; do
  case "$1" in
    --out) out=$2; shift ;;
    --wheels) wheels=$(cd "$2" && pwd); shift ;;
    -h | --help) sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    */*) suites+=("$1") ;;
    *) echo "error: unknown option $1; see scripts/release-roots.sh --help" >&2; exit 2 ;;
  esac
  shift
done
[ ${#suites[@]} -gt 0 ] || suites=(debian/bullseye debian/bookworm debian/trixie ubuntu/jammy ubuntu/noble)
for kind in whl deb tar.zst; do
  found=("$out"/*."$kind")
  [ ${#found[@]} -gt 0 ] || { echo "error: $out has no .$kind: scripts/release.sh makes it" >&2; exit 2; }
done

skipped() { echo "skipped: $1"; }
[ "$(id -u)" -eq 0 ] || { skipped "roots of other distributions: needs root"; exit 0; }
for tool in debootstrap unshare chroot ip; do
  command -v "$tool" > /dev/null || { skipped "roots of other distributions: $tool is not installed"; exit 0; }
done
unshare --mount --net --pid --fork true 2> /dev/null || { skipped "roots of other distributions: unshare may make no namespaces here"; exit 0; }

temporary=$(mktemp -d)
trap 'rm -rf --one-file-system "$temporary"' EXIT
keyring=${UBUNTU_KEYRING:-/usr/share/keyrings/ubuntu-archive-keyring.gpg}

# Debian's archive signs the package ubuntu-keyring, and the root's apt checks the signature: nothing is trusted unchecked.
bring_ubuntu_keyring() {
  [ ! -s "$1/usr/share/keyrings/ubuntu-archive-keyring.gpg" ] || return 0
  cp /etc/resolv.conf "$1/etc/resolv.conf" 2> /dev/null || true
  chroot "$1" sh -c 'apt-get update -qq && cd /tmp && apt-get download -qq ubuntu-keyring' > "$temporary/log" 2>&1 || return 0
  dpkg-deb --fsys-tarfile "$1"/tmp/ubuntu-keyring_*.deb | tar --extract --directory "$temporary" ./usr/share/keyrings/ubuntu-archive-keyring.gpg 2> /dev/null || return 0
  keyring=$temporary/usr/share/keyrings/ubuntu-archive-keyring.gpg
}

# make_root DISTRIBUTION SUITE FOLDER; code 77: it is unavailable here
make_root() {
  local options=(--variant=minbase "--include=python3-venv,zstd") mirror=${DEBIAN_MIRROR:-} scripts=/usr/share/debootstrap/scripts script=""
  # All of Ubuntu's suites are made alike, including those that are newer than debootstrap.
  [ -e "$scripts/$2" ] || [ "$1" != ubuntu ] || script=$scripts/jammy
  [ -e "${script:-$scripts/$2}" ] || { skipped "$1 $2: this debootstrap does not know it"; return 77; }
  if [ "$1" = ubuntu ]; then
    [ -s "$keyring" ] || { skipped "$1 $2: no keys of Ubuntu's archive (UBUNTU_KEYRING names a file)"; return 77; }
    options+=("--keyring=$keyring" "--components=main,universe")
    mirror=${UBUNTU_MIRROR:-}
  fi
  debootstrap "${options[@]}" "$2" "$3" "$mirror" ${script:+"$script"} > "$temporary/log" 2>&1 && return 0
  skipped "$1 $2: debootstrap: $(grep -E '^[EW]:|error' "$temporary/log" | tail -n 1)"
  return 77
}

# Bookworm's Python beside jammy's own, so that one torch serves both: its updates have it.
add_python() {
  cp /etc/resolv.conf "$1/etc/resolv.conf" 2> /dev/null || true
  sed 's/ jammy / jammy-updates /' "$1/etc/apt/sources.list" > "$1/etc/apt/sources.list.d/updates.list"
  chroot "$1" sh -c 'apt-get update -qq && apt-get install -qq --no-install-recommends python3.11-venv' > "$temporary/log" 2>&1 || skipped "a second Python for jammy: $(tail -n 1 "$temporary/log")"
}

# The commands in a root. Its folder /try holds the packages and try-program.sh.
cat > "$temporary/in-root.sh" << 'SCRIPT'
set -eu
export HOME=/root LC_ALL=C.UTF-8
unset TMPDIR
cd /try
dpkg -i ./*.deb > /dev/null
version=$(hpcbench --version)
./try-program.sh hpcbench "$version"
dpkg -r hpcbench > /dev/null
! command -v hpcbench > /dev/null || { echo "error: dpkg -r leaves hpcbench behind" >&2; exit 1; }
python3 -m venv /try/venv
/try/venv/bin/pip install --quiet --disable-pip-version-check --no-index ./hpcbench_runner-*.whl
./try-program.sh /try/venv/bin/hpcbench "$version"
/try/venv/bin/python3 -c 'import hpcbench.events'
/try/venv/bin/hpcbench demo /try/demo 2> /dev/null | grep -q '6 succeeded'
mkdir unpacked
tar --extract --zstd --directory unpacked --file ./*.tar.zst
./try-program.sh /try/unpacked/*/bin/hpcbench "$version"
trainer=$(sh ./try-trainer.sh)
echo "$(ldd --version | sed -n '1s/.* //p') $version; $trainer"
SCRIPT
# Installs the trainer's wheel with the first of the root's Pythons for which --wheels has a torch. Prints the result in words.
cat > "$temporary/try-trainer.sh" << 'SCRIPT'
set -eu
cd /try
wheel=$(echo hpcbench_trainer-*.whl)
[ -e "$wheel" ] || { echo "there is no trainer's wheel"; exit 0; }
install() { "$venv/bin/pip" install --quiet --disable-pip-version-check --no-index "$@" 2> said; }
least=${wheel##*manylinux_2_}
least=${least%%_*}
if [ "$(ldd --version | sed -n '1s/.* 2\.//p')" -lt "$least" ]; then
  venv=/try/venv
  ! install --no-deps "./$wheel" || { echo "error: pip installs $wheel, which needs a newer glibc" >&2; exit 1; }
  grep -q 'not a supported wheel' said || { cat said >&2; exit 1; }
  echo "pip refuses the trainer's wheel, which needs glibc 2.$least"
  exit 0
fi
for python in python3 python3.11; do
  command -v "$python" > /dev/null || continue
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  venv=/try/venv-$version
  "$python" -m venv "$venv"
  if install --find-links /try --find-links /try/wheels 'hpcbench-runner[trainer]'; then
    "$venv/bin/hpcbench" demo digits > table 2> said || { cat said >&2; exit 1; }
    grep -q '^| ddp | 2 | 6 .* 6 succeeded |$' table || { cat table >&2; exit 1; }
    echo "the trainer's wheel works (Python $version)"
    exit 0
  fi
  grep -q 'No matching distribution found for torch' said || { cat said >&2; exit 1; }
done
echo "the trainer's wheel is not tried: --wheels has no torch for Python $version"
SCRIPT

# Own mounts, processes and network, of which ranks need the loopback: nothing remains, and nothing is downloaded.
try_root() {
  mkdir -p "$1/try/wheels"
  cp "$out"/*.whl "$out"/*.deb "$out"/*.tar.zst scripts/try-program.sh "$temporary"/{in-root,try-trainer}.sh "$1/try"
  # shellcheck disable=SC2016  # the inner shell expands it
  unshare --mount --net --pid --fork sh -c '
    set -e
    [ -z "$2" ] || mount --bind -o ro "$2" "$1/try/wheels"
    mount -t proc proc "$1/proc"
    mkdir -p "$1/dev/shm"
    mount -t tmpfs tmpfs "$1/dev/shm"
    ip link set lo up
    exec chroot "$1" /bin/sh /try/in-root.sh' \
    sh "$1" "$wheels" 2> "$temporary/errors"
}

for suite in "${suites[@]}"; do
  distribution=${suite%%/*}
  name=${suite##*/}
  folder=$temporary/$name
  make_root "$distribution" "$name" "$folder" || continue
  [ "$name" != jammy ] || [ -z "$wheels" ] || add_python "$folder"
  [ "$distribution" != debian ] || [ -s "$keyring" ] || bring_ubuntu_keyring "$folder"
  begin=$SECONDS
  said=$(try_root "$folder") || { cat "$temporary/errors" >&2; echo "error: the packages do not work in $distribution $name" >&2; exit 1; }
  echo "$distribution $name, glibc ${said%% *}: .deb, wheel and archive work ($((SECONDS - begin)) s): ${said#* }"
  rm -rf --one-file-system "$folder"
done
