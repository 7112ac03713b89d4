#!/usr/bin/env bash
# Runs each app on all nodes of a Slurm cluster, and compares its output with that of one process outside of Slurm:
# from start to end, and stopped by `sluice drain` and continued on one node.
# usage: slurm_apps.sh PATH/TO/sluice ARTICLES.csv [cuda|host]
# ARTICLES.csv: records of three columns, of which the last two are classified. Slurm's commands have to find the
# cluster; its nodes have one GPU each, and share TMPDIR with this one. Ends with 1 if any output differs.
set -euo pipefail

sluice=$(realpath "${1:?usage: slurm_apps.sh PATH/TO/sluice ARTICLES.csv [cuda|host]}")
articles=$(realpath "${2:?usage: slurm_apps.sh PATH/TO/sluice ARTICLES.csv [cuda|host]}")
device=${3:-cuda}
nodes=$(sinfo --noheader --format=%D --states=idle | awk '{sum += $1} END {print sum + 0}')
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

# Per app: times the articles are repeated, or items; what is drained takes some seconds on all nodes.
if [ "$device" = cuda ]; then
    precisions=(bf16 fp32)
    declare -A size=([classifier]=320 [namegen]=8000000 [gpt2]=524288)
    gpus=1
else
    precisions=(fp32 fp32)
    declare -A size=([classifier]=1 [namegen]=4000 [gpt2]=128)
    gpus=0
fi
for ((i = 0; i < size[classifier]; ++i)); do
    cat -- "$articles"
done > "$folder/articles.csv"
python3 - "${size[gpt2]}" "$folder/prompts.bin" << 'END'
import array, random, sys
random.seed(3)
ids = array.array("i", (random.randrange(50257) for _ in range(16 * int(sys.argv[1]))))
ids.tofile(open(sys.argv[2], "wb"))
END

input_of() {
    case $1 in
        classifier) printf 'path = "articles.csv"\ncolumns = [2, 3]\n' ;;
        namegen) printf 'count = %d\n' "${size[namegen]}" ;;
        gpt2) printf 'path = "prompts.bin"\n' ;;
    esac
}

# write_job APP PRECISION NAME: the job NAME.toml, whose output is NAME.jsonl
write_job() {
    {
        printf 'app = "%s"\nmodel.random = 7\noutput.path = "%s.jsonl"\n' "$1" "$3"
        printf '[input]\n'
        input_of "$1"
        if [ "$1" = gpt2 ]; then printf '[generate]\nprompts = "ids"\nresults = "ids"\nmax_prompt_tokens = 16\nmax_new_tokens = 8\n'; fi
        if [ "$1" = namegen ]; then printf '[generate]\nmax_length = 10\n'; fi
        printf '[run]\ndevice = "%s"\nprecision = "%s"\n' "$device" "$2"
        printf '[slurm]\nnodes = %d\ntime = "00:10:00"\nenvironment = ["OMPI_MCA_btl_tcp_if_include"]\n' "$nodes"
        printf '[slurm.resume]\nmode = "manual"\n'
        printf '[layout]\nranks_per_node = 1\n'
        if [ "$gpus" -gt 0 ]; then printf 'gpus_per_node = %d\n' "$gpus"; fi
    } > "$folder/$3.toml"
}

say() {
    printf '%s\n' "$*"
}

# expect CODE GOT WHAT [LOG]
expect() {
    if [ "$1" = "$2" ]; then
        say "  ok: $3 ended with $2"
    else
        say "  FAILED: $3 ended with $2, expected $1"
        cat ${4:+"$4"} < /dev/null
        failed=1
    fi
}

# same NAME WHAT
same() {
    if cmp -- "$folder/alone.jsonl" "$folder/$1.jsonl"; then
        say "  ok: $2 wrote the bytes of one process: $(sha256sum < "$folder/$1.jsonl" | cut -c1-16)"
    else
        say "  FAILED: $2 wrote other bytes"
        failed=1
    fi
}

alone() {
    local status=0
    write_job "$1" "$2" alone
    rm -rf "$folder"/alone.jsonl*
    CUDA_VISIBLE_DEVICES=0 "$sluice" run "$folder/alone.toml" --no-progress --quiet || status=$?
    expect 0 $status "one process, $2,"
}

# wait_for KEY...: prints what the status of the drained job has at the keys, as soon as that is neither null nor 0.
wait_for() {
    "$sluice" status "$folder/drained.toml" --watch --json | python3 -c '
import json, sys
text = ""
for line in sys.stdin:
    text += line
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        continue
    text = ""
    for key in sys.argv[1:]:
        value = value[key] if value else None
    if value:
        print(value)
        break
' "$@" || true
}

for app in classifier namegen gpt2; do
    say "== $app on $nodes nodes"
    rm -rf "$folder"/whole* "$folder"/drained*
    alone "$app" "${precisions[0]}"
    write_job "$app" "${precisions[0]}" whole
    status=0
    "$sluice" submit "$folder/whole.toml" --wait > "$folder/whole.log" 2>&1 || status=$?
    expect 0 $status "submit --wait, ${precisions[0]}," "$folder/whole.log"
    same whole "submit"

    alone "$app" "${precisions[1]}"
    write_job "$app" "${precisions[1]}" drained
    "$sluice" submit "$folder/drained.toml" > "$folder/drained.log"
    wait_for status items_done > /dev/null
    "$sluice" drain "$folder/drained.toml" || true
    expect 75 "$(wait_for status end code)" "the drained job, ${precisions[1]},"
    "$sluice" status "$folder/drained.toml" || true
    status=0
    "$sluice" submit "$folder/drained.toml" --set slurm.nodes=1 --wait > "$folder/rest.log" 2>&1 || status=$?
    expect 0 $status "the rest on one node" "$folder/rest.log"
    same drained "the job in two attempts"
done
exit $failed
