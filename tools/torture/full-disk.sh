#!/usr/bin/env bash
# tools/torture/full-disk.sh SLUICE: runs a small job on a real file system that is too small for it, again and again with
# a little more room. Each run has to end with exit code 74 (73 where nothing was begun), say which file and what to do,
# and finish with the bytes of an undisturbed run once there is space. Exit code 77: no file system can be mounted here.
set -euo pipefail

sluice=$(realpath -- "$1")
if [ "${2:-}" != mounted ]; then
    folder=$(mktemp -d "${TMPDIR:-/tmp}/sluice-full-disk-XXXXXX")
    trap 'rm -rf -- "$folder"' EXIT
    if ! unshare --user --map-root-user --mount mount -t tmpfs -o size=64k tmpfs "$folder" 2>/dev/null; then
        echo "skipped: this user may not mount a file system in a namespace of its own"
        exit 77
    fi
    unshare --user --map-root-user --mount "$0" "$sluice" mounted "$folder"
    exit
fi

folder=$3
cd -- "$folder"
for item in $(seq 60); do
    echo "$item is the number of this item"
done >items.txt
cat >job.toml <<'END'
app = "classifier"
[input]
path = "items.txt"
[model]
random = 17
[output]
path = "output.csv"
scores = true
report = "report.json"
[run]
device = "host"
devices = 1
[pipeline]
chunk_items = 2
END
"$sluice" run job.toml --set output.path=expected.csv >log 2>&1
mkdir small
mount -t tmpfs -o size=64k tmpfs small

fail() {
    echo "$1"
    cat log
    exit 1
}

full=0
for room in 0 4 8 12 16 20 24 28 32 36 40 44 48; do
    rm -rf -- small/*
    head -c $(((64 - room) * 1024)) /dev/zero >small/filler
    code=0
    "$sluice" run job.toml --set output.path=small/output.csv --set output.report=report.json >log 2>&1 || code=$?
    if [ "$code" -eq 0 ]; then
        cmp -- small/output.csv expected.csv || fail "$room KiB: exit code 0, but other bytes"
        break
    fi
    full=$((full + 1))
    if [ "$code" -ne 74 ] && { [ "$code" -ne 73 ] || [ -e small/output.csv.sluice/attempts/1 ]; }; then
        fail "$room KiB: exit code $code"
    fi
    grep -q "sluice: error\[E-IO-002\]: .*No space left on device" log || fail "$room KiB: it does not say why"
    grep -q "  hint: free space" log || fail "$room KiB: it does not say what to do"
    rm -- small/filler
    "$sluice" run job.toml --set output.path=small/output.csv --set output.report=report.json >log 2>&1 ||
        fail "$room KiB: with space it does not finish"
    cmp -- small/output.csv expected.csv || fail "$room KiB: other bytes"
done
[ "$full" -ge 3 ] || fail "the file system was full $full times only"
echo "full $full times; exit code 74 each time, and finished with the same bytes once there was space"
