#!/usr/bin/env bash
# Everything from a fresh Debian 12 machine to a passed test suite. See --help.
set -euo pipefail
# shellcheck source=tools/lib/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib/common.sh"

usage() {
    cat <<'TEXT'
Usage: tools/run-tests.sh [--preset NAME] [--folders LIST] [--nightly] [--skip-packages] [--help] [-- CTEST-OPTION...]

Installs the Debian packages that are missing, builds the program and all tests, and runs the tests.
Can be run again at any time, from any folder.

  --preset NAME     release (default), dev, asan, ubsan or tsan: what to build and run, in build/NAME
  --folders LIST    only the tests of these folders of tests/, as in "core;kernels"
  --nightly         release alone: the tests that take minutes, which are left out otherwise
  --skip-packages   do not look at packages; for systems other than Debian
  --help            this text
  -- OPTION...      for ctest, as in: tools/run-tests.sh -- -R Grid --verbose

SLUICE_JOBS=N builds with N compilers at once (default: one a core, if each has 2 GB of memory).
Exits with 0 when all tests passed, with 64 for a wrong option, else with 1.
TEXT
}

preset=release
folders=
tests=
skip_packages=no
ctest_options=()
while [ $# -gt 0 ]; do
    case $1 in
    --preset)
        preset=${2:-}
        shift
        ;;
    --preset=*) preset=${1#*=} ;;
    --folders)
        folders=${2:-}
        shift
        ;;
    --folders=*) folders=${1#*=} ;;
    --nightly) tests=nightly ;;
    --skip-packages) skip_packages=yes ;;
    -h | --help)
        usage
        exit 0
        ;;
    --)
        shift
        ctest_options=("$@")
        break
        ;;
    *)
        printf 'error: unknown option %q\n' "$1" >&2
        usage >&2
        exit 64
        ;;
    esac
    [ $# -eq 0 ] || shift
done
case $preset in
release | dev | asan | ubsan | tsan) ;;
*)
    printf 'error: unknown preset %q; expected release, dev, asan, ubsan or tsan\n' "$preset" >&2
    exit 64
    ;;
esac

if [ -n "$tests" ] && [ "$preset" != release ]; then
    printf 'error: --nightly goes with the preset release, got %q\n' "$preset" >&2
    exit 64
fi

step_count=4
enter_clone
start_log "$root/out/tests" "$preset.log"

if [ "$skip_packages" = yes ]; then
    step "packages: not checked"
else
    install_packages build tests
fi
step "configuring build/$preset"
configure "$preset" ${folders:+-D SLUICE_TEST_FOLDERS="$folders"}
step "building the program and its tests with $jobs jobs (minutes the first time, seconds after that)"
build "$preset" ${tests:+all torture}
at_once=$((6 * jobs)) # most wait for other processes most of the time
step "running the tests, $at_once at a time"
prepare_mpi
ctest_all=(ctest --preset "${tests:-$preset}" --parallel "$at_once" --output-log "$log.ctest" "${ctest_options[@]}")
if [ -t 1 ]; then
    "${ctest_all[@]}" --progress || tests_failed=yes
else
    # Thousands of lines about tests that passed help nobody; failures, their output and the closing lines remain.
    "${ctest_all[@]}" | awk '!/^ *Start +[0-9]+:/ && !/ Passed +[0-9.]+ sec *$/ { print; fflush() }' || tests_failed=yes
fi
if [ "${tests_failed:-no}" = yes ]; then
    fail "tests failed with preset '$preset'; all results are in $log.ctest" \
        "tools/run-tests.sh --preset $preset -- --rerun-failed --output-on-failure"
fi
