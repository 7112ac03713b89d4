#!/usr/bin/env bash
# Everything from a fresh Debian 12 machine to names made up and articles classified: packages, build, run. See --help.
set -euo pipefail
# shellcheck source=tools/lib/common.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib/common.sh"

usage() {
    cat <<'TEXT'
Usage: tools/quickstart.sh [--skip-packages] [--help]

Installs the Debian packages that are missing, builds sluice, makes up names and classifies articles with the
trained models of examples/models, and prints the first results, the latency table and where everything is. Can be
run again at any time, from any folder.

  --skip-packages   do not look at packages; for systems other than Debian
  --help            this text

SLUICE_JOBS=N builds with N compilers at once (default: one a core, if each has 2 GB of memory).
Writes build/release and out/quickstart inside the project, and packages, nothing else.
Exits with 0 when the jobs ran, with sluice's own code (docs/exit-codes.md) when one did not, else with 1;
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
rm -rf -- "$out"/names*.csv* "$out"/labels*.csv* "$out/text.csv" "$out"/*.toml

# run_job NAME: runs $out/NAME.toml, whose table goes to $out/NAME.txt; exits with sluice's code when that fails.
run_job() {
    local code=0
    "$sluice" run "$out/$1.toml" >"$out/$1.txt" || code=$?
    if [ "$code" -ne 0 ]; then
        printf 'error: the job ended with exit code %d (docs/exit-codes.md)\n' "$code" >&2
        exit "$code"
    fi
}

cat >"$out/names.toml" <<'TOML'
app = "namegen"

[input]
count = 20000   # names; no file: a name's number and the seed say all

[model]
weights = "../../examples/models/names.safetensors"

[generate]
max_length = 15
seed = 1

[output]
path = "names.csv"
TOML
step "making up 20000 names: sluice run out/quickstart/names.toml"
run_job names
awk -F, 'NR > 1 && NR <= 41 { printf "%s%s", NR % 10 == 2 ? "\n  " : ", ", $2 }' "$out/names.csv"
printf '\n'

cat >"$out/labels.toml" <<'TOML'
app = "classifier"

[input]
path = "../../examples/articles.csv"
header = true
columns = ["title", "body"]

[model]
weights = "../../examples/models/news.safetensors"

[output]
path = "labels.csv"
names = true
TOML
step "classifying the 20 articles of examples/articles.csv: sluice run out/quickstart/labels.toml"
run_job labels
printf '\n'
awk -F, -v texts="$root/examples/articles.csv" '
    { getline text < texts }
    FNR % 2 == 0 {
        sub(/^"/, "", text)
        sub(/".*/, "", text)
        printf "  %-9s %s\n", $3, text
    }' "$out/labels.csv"

launcher="mpirun -n 2 --oversubscribe"
if [ "$EUID" -eq 0 ]; then
    launcher+=" --allow-run-as-root" # Open MPI refuses without
fi
printf '\nThe first job:\n\n'
cat "$out/names.txt"
cat <<TEXT

Everything is in $out:
  names.csv     a row a name: item, name, length, log-probability; names.csv.sluice says that it is complete
  labels.csv    a row an article: item, label and its name
  names.csv.report.json  the table above, complete and raw
  names.toml, labels.toml  the jobs     names.txt, labels.txt  their tables     setup.log  packages and build
The models are small; examples/models/*.md say how good they are.
The program: $sluice (run: sluice --help)
Next: name a text of yours in a job file (docs/job-file.md), or spread a job over 2 ranks:
  $launcher "$sluice" run "$out/names.toml" --set output.path=names-2.csv
TEXT
