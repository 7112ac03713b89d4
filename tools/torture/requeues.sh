#!/usr/bin/env bash
# tools/torture/requeues.sh SLUICE [ATTEMPTS [SEED]]: one job on a Slurm cluster of its own (tools/slurm-box), stopped and
# queued again ATTEMPTS times (default 20) at random moments, each time with another number of nodes: 4, 1, 3, 2 and so
# on, two ranks each. Every stop has to end with exit code 75 within 20 s, every attempt to continue exactly where the one
# before it has stopped, and the output has to have the bytes of a run without Slurm. Takes some minutes. Exits with 77
# where there can be no box.
set -euo pipefail

sluice=$(realpath -- "$1")
attempts=${2:-20}
RANDOM=${3:-1}
box_program=$(realpath -- "$(dirname -- "${BASH_SOURCE[0]}")/../slurm-box")
nodes_of=(4 1 3 2)
longest_drain=20
longest_wait=120

folder=$(mktemp -d "${TMPDIR:-/tmp}/sluice-requeues-XXXXXX")
box=$folder/box
stop_box() {
    if [ -e "$box/is-a-slurm-box" ]; then
        "$box_program" stop "$box"
    fi
    rm -rf -- "$folder"
}
trap stop_box EXIT

result=0
"$box_program" start "$box" 4 0 >/dev/null || result=$?
if [ $result -eq 69 ]; then
    exit 77
elif [ $result -ne 0 ]; then
    exit $result
fi
export SLURM_CONF=$box/slurm.conf
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
cd -- "$folder"
status=$folder/labels.csv.sluice/status.json

fail() {
    echo "FAILED: $1"
    cat "$folder"/labels.csv.sluice/logs/*.log
    exit 1
}

# of NAME: a number of the status; empty where there is none.
of() {
    sed -n "s/^ *\"$1\": \([0-9]*\).*/\1/p" "$status" 2>/dev/null | head -n 1
}

# until_true WHAT COMMAND...: looks ten times a second.
until_true() {
    local what=$1 end=$((SECONDS + longest_wait))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || fail "waited $longest_wait s for: $what"
        sleep 0.1
    done
}

is_in_state() {
    [ "$(squeue --noheader --states=all --jobs="$job" --format=%T)" = "$1" ]
}

# has_done CHUNKS RESTARTS
has_done() {
    [ "$(of restarts)" = "$2" ] && [ "$(of chunks_done)" -ge "$1" ]
}

has_ended() {
    [ "$(of restarts)" = "$1" ] && [ -n "$(of code)" ]
}

# start_again OPTION...: with what scontrol update takes. A job that starts within the second of its requeue fails.
start_again() {
    scontrol update jobid="$job" StartTime=now+3 "$@"
}

# check_stop RESTARTS BEFORE: the attempt has ended as it should; BEFORE chunks were done by then.
check_stop() {
    [ "$(of code)" = 75 ] || fail "attempt $1 ended with $(of code), expected 75"
    [ "$(of chunks_before)" = "$2" ] || fail "attempt $1 began with $(of chunks_before) chunks, expected $2"
}

for ((item = 0; item < 24000; item++)); do
    echo "$item is the number of this item, which says $((item * 7919 % 10007)) words of markets, orbits and goals"
done >items.txt
cat >job.toml <<'END'
app = "classifier"
[input]
path = "items.txt"
[model]
random = 17
[output]
path = "labels.csv"
scores = true
report = "report.json"
[run]
device = "host"
devices = 1
[pipeline]
chunk_items = 4
[slurm]
nodes = 4
time = "04:00:00"
[slurm.resume]
max = 1000
[layout]
ranks_per_node = 2
END

began=$SECONDS
done_before=0
"$sluice" run job.toml --quiet --no-progress --set output.path=expected.csv --set output.report=expected.json
slowest=0
job=$("$sluice" submit job.toml)
for ((attempt = 0; attempt < attempts; attempt++)); do
    until_true "attempt $attempt" has_done $((done_before + 1 + RANDOM % 60)) "$attempt"
    since=$SECONDS
    scancel --signal=USR1 --batch "$job"
    until_true "the end of attempt $attempt" has_ended "$attempt"
    took=$((SECONDS - since))
    [ $took -lt $longest_drain ] || fail "attempt $attempt took $took s to stop"
    slowest=$((took > slowest ? took : slowest))
    check_stop "$attempt" "$done_before"
    nodes=${nodes_of[attempt % 4]}
    [ "$(grep -c '^   "host"' "$status")" = $((2 * nodes)) ] || fail "attempt $attempt was not on $nodes nodes"
    echo "attempt $attempt on $nodes nodes: chunks $done_before to $(of chunks_done), stopped in $took s"
    done_before=$(of chunks_done)
    until_true "the requeue" is_in_state PENDING
    nodes=${nodes_of[(attempt + 1) % 4]}
    start_again NumNodes="$nodes-$nodes" NumTasks=$((2 * nodes))
done
until_true "the end of the job" is_in_state COMPLETED
[ "$(of chunks_before)" = "$done_before" ] || fail "the last attempt began with $(of chunks_before) chunks"
cmp -- labels.csv expected.csv || fail "the output has other bytes"
echo "$attempts stops, none slower than $slowest s, in $((SECONDS - began)) s; the output is the same"
