#!/bin/bash
# Made by sluice. Below the #SBATCH lines this text is the same for every job: what is to be done stands in the plan,
# plan.toml beside this file.

drain=0
step=
# shellcheck disable=SC2317  # the trap calls it
on_usr1() {
    drain=1
    if [ -n "$step" ]; then
        kill -USR1 "$step" 2>/dev/null
    fi
}
trap on_usr1 USR1 # before anything else: until then the signal ends the script
set -uo pipefail
unset SLURM_EXPORT_ENV # with it srun hands on nothing but sbatch's list
export OMP_NUM_THREADS=1 CUDA_DEVICE_ORDER=PCI_BUS_ID
# Slurm's other kind of fence does not wait for other nodes where no data are exchanged: MPI_Init returns on one node
# while ranks of another cannot take messages yet, and die of the first (Slurm 22.05 with PMIx 4.2).
export SLURM_PMIX_FENCE=ring

say() {
    if [ -n "$1" ]; then
        echo "$1" >&2
    fi
}

is_away() { # whether a program of Slurm's has said that the controller does not answer, as while it is restarted
    case $1 in
    *'contact slurm controller'* | *'Unexpected message received'* | *'ocket timed out'* | *'Zero Bytes were'* | \
        *'ommunication connection failure'* | *'Message send failure'* | *'Message receive failure'* | \
        *'Connection refused'* | *'Connection reset'* | *'Connection timed out'* | *'No route to host'* | \
        *'Network is unreachable'* | *'in standby mode'* | *'emporarily un'* | *'Temporary failure'*) return 0 ;;
    esac
    return 1
}

give_up() { # WHY
    say "sluice: $1; if squeue shows no job, once Slurm answers, \"${SLUICE_BIN##*/} submit\" resumes the run"
    exit "$code"
}

pause() { # SECONDS
    trap 'kill $! 2>/dev/null; give_up "Slurm ends the job, perhaps to queue it again"' TERM
    sleep "$1" & # in the background: bash runs no trap before a program in the foreground ends
    wait $!
    trap - TERM
}

# ask_slurm WISH COMMAND...: sets `said` to what it says, `answer` to the last line of that; fails if Slurm refuses.
# While the controller is away nobody ends the job, even at its time limit: that is the controller's work, and it takes
# that up half a minute after it is back.
ask_slurm() {
    local last='' left=120 rest=5 # half an hour of pauses; Slurm's programs take some time of their own
    wish=$1
    shift
    until said=$("$@" 2>&1); do
        answer=${said##*$'\n'}
        is_away "$said" || return 1
        if [ $left -eq 0 ]; then
            give_up "gave up asking Slurm $wish: $answer"
        fi
        if [ "$answer" != "$last" ]; then
            say "sluice: Slurm does not answer ($answer); asking again, for half an hour, $wish"
        fi
        last=$answer
        left=$((left - 1))
        pause $rest
        rest=$((rest < 15 ? rest + 5 : 15))
    done
    answer=${said##*$'\n'}
    if [ -n "$last" ]; then
        say "sluice: Slurm answers again"
    fi
}

cpus_of_a_rank() { # COUNTS of a core's threads; as asked for, else an even share of the node that has the fewest
    local group have least='' cpus threads count
    for group in ${SLURM_JOB_CPUS_PER_NODE//,/ }; do
        have=${group%%(*}
        if [ -z "$least" ] || [ "$have" -lt "$least" ]; then
            least=$have
        fi
    done
    cpus=${SLURM_CPUS_PER_TASK:-$((least / SLUICE_RANKS))}
    # Slurm rounds up to whole cores, and where there are not enough of them srun waits until the job's time is over.
    threads=1
    for count in $1; do
        if [[ $count =~ ^[0-9]+$ ]] && [ "$count" -gt "$threads" ]; then
            threads=$count
        fi
    done
    if [ $(((cpus + threads - 1) / threads * threads * SLUICE_RANKS)) -gt "$least" ]; then
        cpus=$((cpus / threads * threads))
    fi
    echo $((cpus < 1 ? 1 : cpus))
}

start_ranks() {
    local cpus
    if [ "$SLUICE_LAUNCHER" = srun ]; then
        if [ -z "${counts:=${SLURM_THREADS_PER_CORE:-}}" ] &&
            ask_slurm "to start the ranks" sinfo --Node --noheader --nodes="$SLURM_JOB_NODELIST" --format=%Z; then
            counts=$(grep -x '[0-9]*' <<<"$said")
        fi
        cpus=$(cpus_of_a_rank "$counts")
        export SRUN_CPUS_PER_TASK=$cpus # srun does not take it from sbatch
        srun --mpi="$SLUICE_MPI" --kill-on-bad-exit=1 --ntasks=$((SLURM_JOB_NUM_NODES * SLUICE_RANKS)) \
            --ntasks-per-node="$SLUICE_RANKS" --cpus-per-task="$cpus" --cpu-bind=cores --distribution=block:block \
            "$SLUICE_BIN" exec --plan "$SLUICE_PLAN" &
    else # srun, by which mpirun starts one daemon a node, is to give that all of the node's CPUs
        mpirun --map-by "ppr:$SLUICE_RANKS:node" --bind-to none "$SLUICE_BIN" exec --plan "$SLUICE_PLAN" &
    fi
    step=$!
    if [ "$drain" -eq 1 ]; then
        kill -USR1 "$step"
    fi
}

wait_for_ranks() {
    local kept
    while :; do # a signal ends wait early
        wait "$step"
        rc=$?
        kill -0 "$step" 2>/dev/null || break
    done
    if [ "$rc" -gt 128 ]; then # perhaps the code of a signal that came as the ranks ended: bash keeps theirs, mostly
        wait "$step" 2>/dev/null
        kept=$?
        if [ "$kept" -ge 0 ] && [ "$kept" -ne 127 ]; then
            rc=$kept
        fi
    fi
    step= # another process may get its number
}

# shellcheck disable=SC2317  # ask_slurm calls it, too
find_controller() {
    local found
    found=$(scontrol ping 2>&1)
    if [[ $found == *' is DOWN'* && $found != *' is UP'* ]]; then
        echo "Unable to contact slurm controller"
        return 1
    fi
}

code=69 # where no controller starts the ranks
counts=
start_ranks
wait_for_ranks
# srun's own code where the controller was away when it asked for the ranks: no rank ends with it.
while [ "$SLUICE_LAUNCHER" = srun ] && [ "$rc" -eq 1 ] && ! find_controller >/dev/null; do
    ask_slurm "to start the ranks" find_controller
    start_ranks
    wait_for_ranks
done

restarts() { # that Slurm has made of the job, or is about to make: after a node's loss the queue lists it a moment later
    scontrol --oneliner show job "$SLURM_JOB_ID" 2>/dev/null | sed -n 's/.* Restarts=\([0-9]*\).*/\1/p' | head -n 1
}

say_that_none_follows() {
    echo "sluice: Slurm has not queued another attempt; \"${SLUICE_BIN##*/} submit\" resumes the run" >&2
}

# shellcheck disable=SC2317  # ask_slurm calls it
submit_follower() {
    local queued wait_first
    for wait_first in ${last:+0 10}; do # the job may be there, or may still come: only the answer was lost
        sleep "$wait_first"
        queued=$(squeue --noheader --me --states=PENDING --format='%i %E' 2>&1) || {
            echo "$queued"
            return 1
        }
        queued=$(sed -n "s/^\([0-9]*\) afterany:$SLURM_JOB_ID\>.*/\1/p" <<<"$queued" | head -n 1)
        if [ -n "$queued" ]; then
            echo "$queued"
            return
        fi
    done
    sbatch ${options[@]+"${options[@]}"} --parsable --dependency="afterany:$SLURM_JOB_ID" --begin=now \
        --export="${SLUICE_EXPORT//:/,}" "$SLUICE_SCRIPT"
}

code=
again=
# Why the ranks ended is in status.json: the launcher's code may be that of a rank which it has ended itself. Whether
# another attempt may follow is decided there, too, by SLUICE_RESUME, SLUICE_MAX and the attempt's number.
read -r code again < <("$SLUICE_BIN" stop-reason --plan "$SLUICE_PLAN" --srun-rc "$rc" --drained "$drain")
if [ -z "$code" ]; then
    code=70
    if [ ! -x "$SLUICE_BIN" ]; then
        say "sluice: $SLUICE_BIN cannot be started on this node: it has to lie at the same path on every node"
        code=69
    fi
fi
if [ "$again" = yes ]; then
    if [ "$SLUICE_RESUME" = requeue ]; then
        if ask_slurm "for another attempt" scontrol requeue "$SLURM_JOB_ID"; then
            sleep 120 # Slurm ends the script here
        else # Slurm has done so itself where a node was lost
            say "$said"
            made=$(restarts)
            if [ "${made:-0}" -le "${SLURM_RESTART_COUNT:-0}" ]; then
                say_that_none_follows
            fi
        fi
    elif [ "$SLUICE_RESUME" = dependency ]; then
        export SLUICE_ATTEMPT=$((SLUICE_ATTEMPT + 1))
        mapfile -t options <"${SLUICE_SCRIPT%/*}/options" # of the command line: the #SBATCH lines lack them
        if ask_slurm "for another attempt" submit_follower; then
            printf '%s' "${said%"$answer"}" >&2 # warnings
            "$SLUICE_BIN" follow --plan "$SLUICE_PLAN" --job "$answer"
        else
            say "$said"
            say_that_none_follows
        fi
    fi
fi
exit "$code"
