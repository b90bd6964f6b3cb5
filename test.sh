#!/usr/bin/env bash
# Does all set-up and passes the tests: builds, checks format and clang-tidy, runs the unit tests under
# AddressSanitizer and UndefinedBehaviorSanitizer, and the fuzzers for a minute, then every test of the
# label ci.
#
#   ./test.sh            all of it, as CI does
#   ./test.sh --quick    only the release build and its tests of the label ci
#   ./test.sh --fuzz     only the fuzzers, for AUTOTUNE_FUZZ_SECONDS each (60) from another seed each time
#   ./test.sh --soak     the release build and the long tests (label soak; see docs/benchmarks.md), and a
#                        build that compiles each file alone, which shows a missing #include
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

mode=${1---full}
label=ci
case $mode in
  --full | --quick) ;;
  --fuzz) ;;
  --soak) label=soak ;;
  *) echo "usage: ./test.sh [--quick | --fuzz | --soak]" >&2; exit 2 ;;
esac
jobs=$(nproc)
failed=()

say() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }

# Reports a failed part and goes on, so that one run shows everything that is wrong; how the output of
# what failed ended comes once more at the end.
part() {
  local name=$1
  shift
  say "$name"
  if ! "$@" 2>&1 | tee build/part.log; then
    failed+=("$name")
    { printf '\n== %s\n' "$name" && tail -n 25 build/part.log; } >>build/failed.log
  fi
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

# The unit tests of all folders under AddressSanitizer and UndefinedBehaviorSanitizer, each program in as
# many parts at a time as there are cores. What libraries keep until the end is listed, with reasons, in
# tests/lsan_suppressions.txt. Left out: what runs in other programs (browsers, and the plugins of TPU and
# CPU, which bring their own allocators), and long studies of results that ctest runs.
sanitized_tests() (  # in a process of its own: its environment is not that of the other tests
  local folders=(hlo hardware search costmodel tuner) folder shard pids status=0
  local left_out='BrowserTest.*:RecordedTilesTest.*:RecordedExamplesTest.*:CompareRecordingTest.*'
  left_out+=':SpeedupIntervalTest.CoversTheTruth*:AotEstimateTest.LeaveOneKernelOut'
  left_out+=':NearestConfigs.LargeLists*:TileSpace.SamplesUniformly:Programs/CompilerChoiceTest.*'
  left_out+=':*PjrtBackendTest.*:*MlpBlockTest.*:ModelStudyTest.DevicesAreLeftOut:ModelStudyTest.TrainsOn*'
  left_out+=':All/StrategyTest.ProposesEachLegalConfigurationOnceAndEnds/annealing_tile'
  { cmake --preset asan-ubsan &&
    cmake --build --preset asan-ubsan --target autotune_worker "${folders[@]/%/_test}"; } >build/asan-ubsan.log 2>&1 || {
    tail -n 100 build/asan-ubsan.log
    return 1
  }
  export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1
  export LSAN_OPTIONS=suppressions=$PWD/tests/lsan_suppressions.txt:print_suppressions=0
  export UBSAN_OPTIONS=print_stacktrace=1 AUTOTUNE_LIBTPU=none AUTOTUNE_CPU_PLUGIN=none
  for folder in "${folders[@]}"; do
    say "$folder"
    pids=()
    for ((shard = 0; shard < jobs; ++shard)); do
      GTEST_TOTAL_SHARDS=$jobs GTEST_SHARD_INDEX=$shard "build/asan-ubsan/tests/${folder}_test" \
        --gtest_brief=1 --gtest_filter="-$left_out" >"build/asan-ubsan/$folder.$shard.log" 2>&1 &
      pids+=($!)
    done
    for shard in "${!pids[@]}"; do
      wait "${pids[$shard]}" || { status=1 && tail -n 200 "build/asan-ubsan/$folder.$shard.log"; }
    done
  done
  return "$status"
)

# Every fuzzer for a time, side by side, from the corpus in the tree; inputs that break something are
# left in build/fuzz. The seed is fixed, for a test is to say the same twice; --fuzz explores.
# Long: AUTOTUNE_FUZZ_SECONDS=1800 ./test.sh --fuzz
fuzz_tests() {
  local seconds=${AUTOTUNE_FUZZ_SECONDS:-60} name names=(hlo_text hlo_proto recording) status=0
  local seed=${AUTOTUNE_FUZZ_SEED:-1}
  local pids=()
  { cmake --preset fuzz && cmake --build --preset fuzz --target "${names[@]/%/_fuzzer}"; } >build/fuzz.log 2>&1 || {
    tail -n 100 build/fuzz.log
    return 1
  }
  for name in "${names[@]}"; do
    mkdir -p "build/fuzz/new_$name"
    "build/fuzz/tests/${name}_fuzzer" -seed="$seed" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 \
      -max_len=16384 -print_final_stats=1 -artifact_prefix="build/fuzz/$name-" \
      "build/fuzz/new_$name" "tests/fuzz/corpus/$name" >"build/fuzz/$name.log" 2>&1 &
    pids+=($!)
  done
  for name in "${!names[@]}"; do
    if wait "${pids[$name]}"; then
      echo "${names[$name]}: $(grep number_of_executed "build/fuzz/${names[$name]}.log")"
    else
      status=1
      tail -n 60 "build/fuzz/${names[$name]}.log"
    fi
  done
  return "$status"
}

mkdir -p build
rm -f build/failed.log
say "set-up"
scripts/setup test
if [[ $mode == --fuzz ]]; then
  AUTOTUNE_FUZZ_SEED=${AUTOTUNE_FUZZ_SEED:-0} fuzz_tests  # 0: from the clock
  exit
fi
setup_python
# The TPU compiler and CPU plugins (1.2 GB), without which the tests of aot and pjrt skip themselves.
[[ -n ${AUTOTUNE_WITHOUT_AOT-} ]] || scripts/setup_aot

say "release build"
build release-tests
if [[ $mode == --full ]]; then
  part "format and clang-tidy" scripts/lint
  part "unit tests under AddressSanitizer and UndefinedBehaviorSanitizer" sanitized_tests
  part "fuzzers" fuzz_tests
fi
[[ $mode != --soak ]] || part "each file alone" build dev
part "tests of the label $label" run_ctest build/release "$label"

if [[ ${#failed[@]} -gt 0 ]]; then
  cat build/failed.log
  printf 'FAILED: %s\n' "${failed[@]}"
  exit 1
fi
