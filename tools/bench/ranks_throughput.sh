#!/usr/bin/env bash
# Items a second of one process that drives every core, against the same number of cores under mpirun with 4 ranks.
# usage: ranks_throughput.sh PATH/TO/sluice [ITEMS] [REPEATS]
# The rate is that of the whole run, start-up included, as the report has it; compute is first compute to compute end.
set -euo pipefail

sluice=$(realpath "${1:?usage: ranks_throughput.sh PATH/TO/sluice [ITEMS] [REPEATS]}")
items=${2:-2000}
repeats=${3:-5}
ranks=4
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

for ((i = 0; i < items; ++i)); do
  echo "item $i: the market fell as oil rose; the team won its match, and a probe left for the moon"
done >"$folder/articles.txt"
cat >"$folder/job.toml" <<END
app = "classifier"
input.path = "articles.txt"
model.random = 17
output.path = "labels.csv"
run.device = "host"
pipeline.chunk_items = 16
END

median() { sort -g | awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }

# Of the report: items a second of the run, and between the first compute and the last.
rates() {
  python3 - "$folder/labels.csv.report.json" <<'END'
import json, sys
report = json.load(open(sys.argv[1]))
at = [rank["milestones"] for rank in report["ranks"]]
begin = min(first for m in at for first in m["first_compute"] if first is not None)
end = max(m["compute_end"] for m in at if m["compute_end"] is not None)
print(report["run"]["throughput"], report["run"]["items"] / (end - begin))
END
}
run() {
  rm -rf -- "$folder/labels.csv" "$folder/labels.csv.sluice"
  "${@:2}" "$sluice" run "$folder/job.toml" --quiet --no-progress
  rates | tee -a "$folder/$1" | awk -v name="$1" '{printf "%-8s run %8.1f   compute %8.1f items/s\n", name, $1, $2}'
}
for ((repeat = 0; repeat < repeats; ++repeat)); do
  run alone
  run ranks mpirun --oversubscribe -n "$ranks"
done
for column in 1 2; do
  alone=$(cut -d' ' -f"$column" "$folder/alone" | median)
  many=$(cut -d' ' -f"$column" "$folder/ranks" | median)
  awk -v name="$([[ $column == 1 ]] && echo run || echo compute)" -v a="$alone" -v b="$many" -v n="$ranks" \
    'BEGIN {printf "%s, median: 1 process %.1f, %d ranks %.1f items/s: ratio %.3f\n", name, a, n, b, b / a}'
done
