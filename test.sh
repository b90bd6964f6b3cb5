#!/usr/bin/env bash
# Does all set-up and passes the tests: builds, runs the tests of hlo under AddressSanitizer and
# UndefinedBehaviorSanitizer, checks format and clang-tidy, then runs every test of the label ci.
#
#   ./test.sh            all of it, as CI does
#   ./test.sh --quick    only the release build and its tests of the label ci
#   ./test.sh --soak     the release build and the long tests (label soak; see docs/benchmarks.md)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

mode=${1---full}
label=ci
case $mode in
  --full | --quick) ;;
  --soak) label=soak ;;
  *) echo "usage: ./test.sh [--quick | --soak]" >&2; exit 2 ;;
esac
jobs=$(nproc)
failed=()

say() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }

# Reports a failed part and goes on, so that one run shows everything that is wrong.
part() {
  local name=$1
  shift
  say "$name"
  "$@" || failed+=("$name")
}

# jaxlib, pinned, as the reference of the differential tests, in an environment of its own.
setup_python() {
  local venv=build/venv requirements=tests/conformance/requirements.txt
  [[ -e $requirements ]] || return 0
  if ! cmp -s "$requirements" "$venv/installed.txt"; then
    python3 -m venv --clear "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$requirements"
    cp "$requirements" "$venv/installed.txt"
  fi
}

# build PRESET: configures and builds, showing the log only when something is wrong.
build() {
  cmake --preset "$1" >"build/$1.log" 2>&1 || { cat "build/$1.log"; return 1; }
  cmake --build --preset "$1" >>"build/$1.log" 2>&1 || {
    grep -v '^\[[0-9]*/[0-9]*\]' "build/$1.log" | tail -n 100
    return 1
  }
}

run_ctest() {
  ctest --test-dir "$1" -L "$2" -j "$jobs" --output-on-failure --no-tests=error "${@:3}"
}

# The tests of hlo, which reads untrusted input. The other folders' tests are yet to be made fit for
# sanitizers (child processes with a memory limit, libraries that leak at exit).
sanitized_tests() {
  cmake --preset asan-ubsan >build/asan-ubsan.log 2>&1 &&
    cmake --build --preset asan-ubsan --target hlo_test >>build/asan-ubsan.log 2>&1 || {
    tail -n 100 build/asan-ubsan.log
    return 1
  }
  ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1 \
    UBSAN_OPTIONS=print_stacktrace=1 build/asan-ubsan/tests/hlo_test --gtest_brief=1
}

mkdir -p build
say "set-up"
scripts/setup test
setup_python
# The TPU compiler and CPU plugins (1.2 GB), without which the tests of aot and pjrt skip themselves.
[[ -n ${AUTOTUNE_WITHOUT_AOT-} ]] || scripts/setup_aot

say "release build"
build release-tests
if [[ $mode == --full ]]; then
  part "format and clang-tidy" scripts/lint
  part "tests of hlo under AddressSanitizer and UndefinedBehaviorSanitizer" sanitized_tests
fi
part "tests of the label $label" run_ctest build/release "$label"

if [[ ${#failed[@]} -gt 0 ]]; then
  printf 'FAILED: %s\n' "${failed[@]}"
  exit 1
fi
