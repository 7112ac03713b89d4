#!/usr/bin/env bash
# CPU that ranks without work use while one rank computes: 5 ranks, one device each, two chunks.
# usage: idle_cpu.sh PATH/TO/sluice [SECONDS]     Linux, Open MPI's mpirun on one machine
set -euo pipefail

sluice=$(realpath "${1:?usage: idle_cpu.sh PATH/TO/sluice [SECONDS]}")
seconds=${2:-5}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
folder=$(mktemp -d)
launcher=
clean_up() {
  if [[ -n $launcher ]]; then
    kill "$launcher" 2>/dev/null || true
    wait "$launcher" 2>/dev/null || true
  fi
  rm -rf "$folder"
}
trap clean_up EXIT

ranks=5
chunk_items=$((400 * (seconds + 3)))  # longer to compute than the measurement, at up to 400 items/s a core
for ((i = 0; i < 2 * chunk_items; ++i)); do
  echo "a line of text for item $i"
done >"$folder/articles.txt"
cat >"$folder/job.toml" <<END
app = "classifier"
input.path = "articles.txt"
model.random = 17
output.path = "labels.csv"
run.device = "host"
run.devices = 1
pipeline.chunk_items = $chunk_items
pipeline.depth = 1
END

# The children of the launcher that are ranks, as "RANK PID".
ranks_of() {
  local pid rank
  for pid in $(ps -o pid= --ppid "$1"); do
    rank=$(tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | sed -n 's/^OMPI_COMM_WORLD_RANK=//p') || true
    if [[ -n $rank ]]; then
      echo "$rank $pid"
    fi
  done | sort -n
}
# CPU of all threads of a process, in clock ticks: fields 14 and 15 of proc(5)'s stat.
ticks() { sed 's/.*) //' "/proc/$1/stat" | awk '{print $12 + $13}'; }
switches() { cat "/proc/$1"/task/*/status | awk '/^(non)?voluntary_ctxt/ {n += $2} END {print n}'; }

mpirun --oversubscribe -n "$ranks" "$sluice" run "$folder/job.toml" --quiet --no-progress 2>"$folder/stderr" &
launcher=$!
# Start-up is done when two ranks have computed for a while.
busy=0
while ((busy < 2)); do
  sleep 0.2
  if ! kill -0 "$launcher" 2>/dev/null; then
    cat "$folder/stderr" >&2
    exit 1
  fi
  busy=0
  while read -r rank pid; do
    if (($(ticks "$pid") > 2 * $(getconf CLK_TCK))); then
      busy=$((busy + 1))
    fi
  done < <(ranks_of "$launcher")
done

mapfile -t found < <(ranks_of "$launcher")
declare -A ticks_before switches_before
begin=$(date +%s.%N)
for line in "${found[@]}"; do
  read -r rank pid <<<"$line"
  ticks_before[$rank]=$(ticks "$pid")
  switches_before[$rank]=$(switches "$pid")
done
sleep "$seconds"
printf '%-5s %10s %22s\n' rank 'core (%)' 'context switches/s'
for line in "${found[@]}"; do
  read -r rank pid <<<"$line"
  took=$(echo "$(date +%s.%N) - $begin" | bc -l)
  echo "$rank $(ticks "$pid") ${ticks_before[$rank]} $(switches "$pid") ${switches_before[$rank]} $took" |
    awk -v hz="$(getconf CLK_TCK)" '{printf "%-5d %10.2f %22.0f\n", $1, 100 * ($2 - $3) / hz / $6, ($4 - $5) / $6}'
done
