#!/usr/bin/env bash
# Makes what people install, and tries each of it in a root of its own: a wheel, a .deb and a relocatable archive of the wholly
# static hpcbench, and, where there is a LibTorch, a wheel of its trainer for that torch; with their checksums, and SPDX files of
# what is inside the programs, which the wheels hold, too.
#   scripts/release.sh                    into build/release
#   scripts/release.sh --out FOLDER       into FOLDER
#   scripts/release.sh --installed TREE   packs what `cmake --install BUILD --prefix TREE` made; builds nothing, makes no .deb and no SPDX file
#   scripts/release.sh --trainer TREE     packs the trainer of such a tree, and builds none (without an SPDX file)
#   scripts/release.sh --untried          packs in a hurry, and tries nothing
#   scripts/release.sh --roots            tries them also in fresh roots of other distributions (release-roots.sh)
#   scripts/release.sh --wheels FOLDER    of torch for CPUs and what it requires, for the Pythons of those roots: they try the trainer, too
#   scripts/release.sh --twice            builds again in another folder, and compares: the same bytes
# What cannot be tried here (no debootstrap, not root, no network) is named and left out.
set -euo pipefail
shopt -s nullglob
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD

out=$root/build/release
installed=
trainer=
wheels=
twice=no
roots=no
tried=yes
level=19
while [ $# -gt 0 ]; do
  case "$1" in
    --out) out=$(mkdir -p "$2" && cd "$2" && pwd); shift ;;
    --installed) installed=$(cd "$2" && pwd); shift ;;
    --trainer) trainer=$(cd "$2" && pwd); shift ;;
    --wheels) wheels=$(cd "$2" && pwd); shift ;;
    --untried) tried=no level=3 ;;
    --twice) twice=yes ;;
    --roots) roots=yes ;;
    -h | --help) sed -n '2,13s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "error: unknown option $1; see scripts/release.sh --help" >&2; exit 2 ;;
  esac
  shift
done

commit=$(git rev-parse --short=12 HEAD 2> /dev/null || echo unknown)
[ -z "$(git status --porcelain 2> /dev/null)" ] || commit=$commit-changed
# Every packed file has the date of the commit.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2> /dev/null || echo 1700000000)}
export SOURCE_DATE_EPOCH
umask 022
version=$(sed -n 's/^project(hpcbench VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
skipped() { echo "skipped: $1"; }

# build SOURCES BUILD: a wholly static hpcbench
build() {
  cmake --preset package -S "$1" -B "$2" "-DHPCBENCH_BUILD=$commit, static, $(uname -m)" "-DCMAKE_CXX_FLAGS=\"-ffile-prefix-map=$1=.\" \"-ffile-prefix-map=$2=build\"" > "$temporary/log" ||
    { cat "$temporary/log" >&2; exit 1; }
  cmake --build "$2" --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" --target hpcbench
}

# The LibTorch that CMake would choose, too.
find_torch() {
  local python
  if [ -n "${HPCBENCH_TORCH_DIR:-}" ]; then
    echo "$HPCBENCH_TORCH_DIR"
    return
  fi
  for python in "$root/.venv/bin/python3" python3; do
    "$python" -c 'from importlib.util import find_spec; print(find_spec("torch").submodule_search_locations[0])' 2> /dev/null && return
  done
  return 1
}

# build_trainer SOURCES BUILD TREE: only for CPUs, which works with every torch of its version; installed into TREE
build_trainer() {
  cmake --preset package -S "$1" -B "$2" -DHPCBENCH_STATIC=OFF -DHPCBENCH_TRAINER=ON -DHPCBENCH_CUDA=OFF "-DHPCBENCH_TORCH_DIR=$torch" \
    "-DCMAKE_CXX_FLAGS=\"-ffile-prefix-map=$1=.\" \"-ffile-prefix-map=$2=build\" \"-ffile-prefix-map=$torch=torch\"" > "$temporary/log" ||
    { cat "$temporary/log" >&2; exit 1; }
  cmake --build "$2" --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" --target hpcbench-train
  cmake --install "$2" --prefix "$3" --component trainer > /dev/null
}

# pack TREE BUILD TRAINER TRAINER-BUILD FOLDER: wheels, archive and SPDX files; an empty BUILD gives none
pack() {
  local name
  name=hpcbench-$version-linux-$(uname -m)
  python3 scripts/wheel.py --installed "$1" ${2:+--installed-from "$2"} ${3:+--trainer "$3"} ${4:+--trainer-from "$4"} --out "$5"
  mkdir -p "$temporary/$name"
  cp -a "$1/." LICENSE "$temporary/$name"
  tar --create --directory "$temporary" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw "$name" |
    zstd "-$level" --quiet --force -o "$5/$name.tar.zst"
  rm -rf "${temporary:?}/$name"
}

# listed BUILD: the same, if the libraries linked into it can be named
listed() { ! command -v dpkg-query > /dev/null || echo "$1"; }

mkdir -p "$out"
rm -f "$out"/*.whl "$out"/*.deb "$out"/*.tar.zst "$out"/*.spdx.json "$out"/SHA256SUMS
built=
trainer_built=
if [ -z "$installed" ]; then
  built=$(listed "$root/build/package")
  [ -n "$built" ] || skipped "the SPDX files: dpkg is not installed"
  build "$root" "$root/build/package"
  installed=$temporary/tree
  cmake --install "$root/build/package" --prefix "$installed" > /dev/null
  if command -v dpkg-deb > /dev/null; then
    (cd "$root/build/package" && cpack -G DEB -B "$temporary/deb" > "$temporary/log") || { cat "$temporary/log" >&2; exit 1; }
    cp "$temporary"/deb/*.deb "$out"
  else
    skipped "the .deb: dpkg-deb is not installed"
  fi
  if [ -n "$trainer" ]; then
    :
  elif torch=$(find_torch); then
    trainer=$temporary/trainer
    trainer_built=$(listed "$root/build/package-trainer")
    build_trainer "$root" "$root/build/package-trainer" "$trainer"
  else
    skipped "the trainer's wheel: no LibTorch; scripts/setup.sh --dependencies brings one, HPCBENCH_TORCH_DIR names one"
  fi
fi
pack "$installed" "$built" "$trainer" "$trainer_built" "$out"
packages=("$out"/*.whl "$out"/*.tar.zst "$out"/*.deb "$out"/*.spdx.json)
(cd "$out" && sha256sum -- "${packages[@]##*/}" > SHA256SUMS)

if [ "$twice" = yes ]; then
  git clone --quiet --no-hardlinks "$root" "$temporary/again"
  build "$temporary/again" "$temporary/again-build"
  cmake --install "$temporary/again-build" --prefix "$temporary/again-tree" > /dev/null
  mkdir "$temporary/again-out"
  again_trainer=
  if [ -n "${torch:-}" ]; then
    again_trainer=$temporary/again-trainer
    build_trainer "$temporary/again" "$temporary/again-trainer-build" "$again_trainer"
  fi
  pack "$temporary/again-tree" "$(listed "$temporary/again-build")" "$again_trainer" "$(listed "$temporary/again-trainer-build")" "$temporary/again-out"
  (cd "$temporary/again-build" && cpack -G DEB -B "$temporary/again-deb" > /dev/null && cp "$temporary"/again-deb/*.deb "$temporary/again-out")
  (cd "$temporary/again-out" && sha256sum --check --quiet "$out/SHA256SUMS") && echo "the second build gave the same bytes"
fi

if [ "$tried" = no ]; then
  cat "$out/SHA256SUMS"
  exit 0
fi

# try NAME COMMAND...: tests each package as its user installs it
try() {
  local name=$1 seconds=$SECONDS
  shift
  "$@" > "$temporary/try.log" 2>&1 &  # `"$@" || ...` would not end at a failure inside
  wait $! || { cat "$temporary/try.log" >&2; echo "error: the $name does not work" >&2; exit 1; }
  echo "$name: works ($((SECONDS - seconds)) s)"
}

try_wheel() {
  python3 -m venv "$temporary/venv"
  "$temporary/venv/bin/pip" install --quiet --disable-pip-version-check --no-index "$out"/hpcbench_runner-*.whl
  (cd "$temporary" && env -i HOME="$temporary" PATH="$temporary/venv/bin:/usr/bin:/bin" hpcbench demo demo && test -s demo/results/hpcbench.db)
  "$temporary/venv/bin/python" -c 'import hpcbench.events, hpcbench; print(hpcbench.find_program())'
}

# As in an environment with torch: the build's counts as installed by a .pth file, and a link puts it where pip puts torch.
try_trainer() {
  local python=$torch/../../../../bin/python3 site digits
  [ -x "$python" ] || python=python3
  "$python" -m venv --without-pip "$temporary/trainer-venv"
  site=$("$temporary/trainer-venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  dirname "$torch" > "$site/torch-of-the-build.pth"
  "$python" -m pip --python "$temporary/trainer-venv/bin/python" install --quiet --disable-pip-version-check --no-index --find-links "$out" "hpcbench-runner[trainer]==$version"
  "$temporary/trainer-venv/bin/hpcbench-train" --version
  ln -s "$torch" "$site/torch"
  digits=$(cd "$temporary" && env -i HOME="$temporary" PATH=/usr/bin:/bin "$temporary/trainer-venv/bin/hpcbench" demo digits)
  grep '^| ddp | 2 | 6 .* 6 succeeded |$' <<< "$digits"
}

try_archive() {
  mkdir "$temporary/elsewhere"
  tar --extract --zstd --directory "$temporary/elsewhere" --file "$out"/*.tar.zst
  local program
  program=$(echo "$temporary"/elsewhere/*/bin/hpcbench)
  "$program" --version
  (cd "$temporary/elsewhere" && "$program" init new.yaml && "$program" check new.yaml --site cpu)
}

# A root that contains only the program: no C library, no shell.
try_bare() {
  mkdir -p "$temporary/bare/tmp"
  cp "$installed/bin/hpcbench" "$temporary/bare/hpcbench"
  chroot "$temporary/bare" /hpcbench --version
  chroot "$temporary/bare" /hpcbench init /tmp/new.yaml
  chroot "$temporary/bare" /hpcbench check /tmp/new.yaml
}

try_deb() {
  dpkg-deb --info "$1"
  mkdir "$temporary/deb-root"
  dpkg-deb --extract "$1" "$temporary/deb-root"
  "$temporary/deb-root/usr/bin/hpcbench" --version
  test -s "$temporary/deb-root/usr/share/man/man1/hpcbench-run.1"
}

if python3 -c 'import ensurepip' 2> /dev/null; then try wheel try_wheel; else skipped "trying the wheel: python3-venv is not installed"; fi
if [ -z "$trainer" ]; then
  skipped "trying the trainer's wheel: there is none"
elif [ -z "${torch:=$(find_torch || true)}" ] || [ -z "$(echo "$torch"/../torch-*.dist-info)" ]; then
  skipped "trying the trainer's wheel: no LibTorch that pip installed"
elif ! python3 -c 'import ensurepip' 2> /dev/null; then
  skipped "trying the trainer's wheel: python3-venv is not installed"
else
  try "trainer's wheel" try_trainer
fi
try archive try_archive
if [ "$(id -u)" -eq 0 ] && ! readelf --program-headers "$installed/bin/hpcbench" | grep -q INTERP; then
  try "program in a root without any library" try_bare
else
  skipped "a root without any library: needs root and a wholly static program"
fi
for package in "$out"/*.deb; do try "Debian package" try_deb "$package"; done
[ "$roots" = no ] || scripts/release-roots.sh --out "$out" ${wheels:+--wheels "$wheels"}
cat "$out/SHA256SUMS"
