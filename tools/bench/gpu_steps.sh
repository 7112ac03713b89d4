# shellcheck shell=bash
# Shared by *_on_gpu.sh: steps with a time limit each. All are run; at the end it is reported whether one failed.
# Sets `folder`, for files that are removed when the script ends.

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

# step SECONDS NAME COMMAND...: a test that was skipped has told nothing.
step() {
    local limit=$1
    local name=$2
    shift 2
    echo "== $name"
    local begin=$SECONDS
    local status=0
    timeout -k 10 "$limit" "$@" > "$folder/output" 2>&1 || status=$?
    cat "$folder/output"
    if [ "$status" -eq 0 ] && grep -q SKIPPED "$folder/output"; then
        status=skipped
    fi
    echo "== $name: $status after $((SECONDS - begin)) s"
    if [ "$status" != 0 ]; then
        failed=1
    fi
}

# finish: ends the script with 1 if any step has failed.
finish() {
    exit "$failed"
}
