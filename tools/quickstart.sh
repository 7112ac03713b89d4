#!/usr/bin/env bash
# Everything from a fresh Debian 12 machine to classified text: packages, build, run. See --help.
set -euo pipefail
# shellcheck source=tools/lib/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib/common.sh"
# shellcheck source=tools/lib/sample-text.sh
. "$root/tools/lib/sample-text.sh"

usage() {
    cat <<'TEXT'
Usage: tools/quickstart.sh [--skip-packages] [--help]

Installs the Debian packages that are missing, builds sluice, classifies real text with it and prints the
first results, the latency table and where everything is. Can be run again at any time, from any folder.

  --skip-packages   do not look at packages; for systems other than Debian
  --help            this text

SLUICE_JOBS=N builds with N compilers at once (default: one a core).
Writes build/release and out/quickstart inside the project, and packages, nothing else.
Exits with 0 when the job ran, with sluice's own code (docs/exit-codes.md) when it did not, else with 1;
64 for a wrong option.
TEXT
}

skip_packages=no
for argument in "$@"; do
    case $argument in
    --skip-packages) skip_packages=yes ;;
    -h | --help)
        usage
        exit 0
        ;;
    *)
        printf 'error: unknown option %q\n' "$argument" >&2
        usage >&2
        exit 64
        ;;
    esac
done

step_count=5
out=$root/out/quickstart
sluice=$root/build/release/bin/sluice
enter_clone
start_log "$out" setup.log

if [ "$skip_packages" = yes ]; then
    step "packages: not checked"
else
    install_packages build tests
fi
step "configuring build/release"
configure release
step "building the program with $jobs jobs (minutes the first time, seconds after that)"
build release sluice

# What an earlier quickstart has left: its output would be found complete, or another job's.
rm -rf -- "$out/labels.csv" "$out/labels.csv.sluice"
items=$(write_sample_text "$out/text.csv") ||
    fail "found no text to classify in /usr/share/common-licenses and /usr/share/perl" \
        "install base-files or perl-modules, or name a file of yours in examples/csv.toml"
step "writing $items paragraphs of Debian's own texts to out/quickstart/text.csv"
cat >"$out/job.toml" <<'TOML'
app = "classifier"

[input]
path = "text.csv"
header = true
columns = ["text"]

[model]
random = 17     # a seed: random weights until there is a trained model

[output]
path = "labels.csv"
scores = true
TOML

step "running the job: sluice run out/quickstart/job.toml"
code=0
"$sluice" run "$out/job.toml" >"$out/run.txt" || code=$?
if [ "$code" -ne 0 ]; then
    printf 'error: the job ended with exit code %d (docs/exit-codes.md)\n' "$code" >&2
    exit "$code"
fi

printf '\nFirst results (class 0 to 3; the weights are random, so the labels mean nothing yet):\n\n'
awk -v texts="$out/text.csv" '
    FNR == 1 { getline text < texts; next }
    FNR > 9 { exit }
    {
        getline text < texts
        sub(/^[^,]*,"/, "", text)
        gsub(/""/, "\"", text)
        split($0, field, ",")
        printf "  item %d  class %d  %.60s...\n", field[1], field[2], text
    }' "$out/labels.csv"
printf '\n'
sed -n '/^$/,$p' "$out/run.txt"
cat <<TEXT

Everything is in $out:
  labels.csv    a row an item: item, label, scores; labels.csv.sluice says that it is complete
  labels.csv.report.json  the table above, complete and raw
  job.toml      the job          text.csv   its input
  run.txt       this table       setup.log  packages and build
The program: $sluice (run: sluice --help)
Next: name your own text in a job file (docs/job-file.md), or spread the job over 2 ranks:
  mpirun -n 2 --oversubscribe "$sluice" run "$out/job.toml" --set output.path=labels-2.csv
TEXT
