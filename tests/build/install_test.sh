#!/usr/bin/env bash
# Installs a build into a prefix, moves the prefix, and runs from there as a user would: nothing may
# depend on the source tree, on the build folder or on where the prefix was first.
#
#   install_test.sh BUILD_FOLDER
set -euo pipefail

build=$1
source_root=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "install_test: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$scratch/first" >/dev/null
mv "$scratch/first" "$scratch/second place"
cd "$scratch"
prefix="$scratch/second place"
export HOME="$scratch/home"
mkdir "$HOME"

for file in LICENSE README.md examples/alexnet/program.hlo examples/alexnet/tpu_v3.pb; do
  [[ -s $prefix/share/autotune/$file ]] || fail "$file is not installed"
done

grep -qF "$source_root" "$prefix/bin/autotune" && fail "the binary names the checkout"
version=$("$prefix/bin/autotune" --version)
[[ $version == *[0-9].[0-9]* ]] || fail "--version said '$version'"

example="$prefix/share/autotune/examples/alexnet"
"$prefix/bin/autotune" "$example/program.hlo" --recording "$example/tpu_v3.pb" --budget 40 \
  --out "$scratch/out" --json >"$scratch/report.json" 2>"$scratch/log" ||
  { cat "$scratch/log" >&2; fail "tuning the example failed"; }
python3 - "$scratch/report.json" <<'PY' || fail "the report is not a JSON document with kernels"
import json, sys
report = json.load(open(sys.argv[1]))
assert report["kernels"], report
PY
[[ -s $scratch/out/best.json ]] || fail "no best.json was written"
grep -rqF "$build" "$scratch/out" "$scratch/log" && fail "the build folder shows in the results"
echo "install_test: ok, $version"
