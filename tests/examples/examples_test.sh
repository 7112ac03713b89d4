#!/usr/bin/env bash
# Every job of examples/ runs from a copy of the folder, and all formats give the same labels: the two one-hot items those
# of the first two articles. Usage: examples_test.sh SLUICE EXAMPLES
set -euo pipefail
sluice=$1
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cp -r -- "$2"/. "$folder"
chmod -R u+w -- "$folder"
rm -rf -- "$folder"/labels-*

for job in "$folder"/*.toml; do
    "$sluice" run --quiet --no-progress "$job"
done

for format in jsonl txt npy u8 slurm; do
    cmp -- "$folder/labels-csv.csv" "$folder/labels-$format.csv"
done
head -n 3 -- "$folder/labels-csv.csv" | cmp - "$folder/labels-bin.csv"
head -n 1 -- "$folder/labels-csv.csv" | grep -qx 'item,label,name' || {
    echo "expected the columns item, label and name" >&2
    exit 1
}
[ "$(wc -l <"$folder/labels-csv.csv")" -eq 21 ] || {
    echo "expected a header and 20 rows" >&2
    exit 1
}
