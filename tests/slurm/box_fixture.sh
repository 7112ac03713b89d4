#!/usr/bin/env bash
# box_fixture.sh start|stop DIR: the cluster of the tests with real Slurm: four nodes, and for jobs that ask for their
# partition n4 ("aside") and n5 to n8 ("deaths"). Exits with 77 where there can be none.
set -euo pipefail
box=$(dirname -- "${BASH_SOURCE[0]}")/../../tools/slurm-box
dir=$2
result=0
if [ -e "$dir/is-a-slurm-box" ]; then # of tests that were interrupted, or the one to stop
    "$box" stop "$dir"
fi
if [ "$1" = start ]; then
    "$box" start "$dir" 9 4 || result=$?
    if [ $result -eq 0 ]; then
        export SLURM_CONF=$dir/slurm.conf
        scontrol update partitionname=gpu nodes=n[0-3]
        scontrol create partitionname=aside nodes=n4
        scontrol create partitionname=deaths nodes=n[5-8]
    fi
fi
[ $result -ne 69 ] || result=77
exit $result
