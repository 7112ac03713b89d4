#!/usr/bin/env bash
# Tests and measures the generator on a GPU, in some minutes: its tests, its speed, and a part of the tests under
# compute-sanitizer.
#   generator_on_gpu.sh [FOLDER OF THE PROGRAMS]     (build/cuda-90a/bin)
# Ends with 1 if any step has failed; the speed is printed all the same.
set -euo pipefail

programs=${1:-build/cuda-90a/bin}
# shellcheck source=tools/bench/gpu_steps.sh
. "$(dirname -- "$0")/gpu_steps.sh"

tests=("$programs/cuda_kernels_test")
small='GeneratorOnGpu.CountsAsTheHost:GeneratorOnGpu.ComputesOnlyTheItemsThatCount'

step 60 "fp32 against the host" "${tests[@]}" --gtest_filter='GeneratorOnGpu.WritesTheHostsBytesInFp32:GeneratorOnGpu.C*:GeneratorOnGpu.Says*'
step 60 "every precision against plain loops" "${tests[@]}" --gtest_filter='GeneratorOnGpu.WritesWhatPlainLoopsWriteInDouble:GeneratorOnGpu.Saturates*'
step 90 "chunks, and many texts" "${tests[@]}" --gtest_filter='GeneratorOnGpu.Gives*:GeneratorOnGpu.WritesNothing*'
step 90 "certified names" "$programs/apps_cuda_test" --gtest_filter='CertifiedNames.*'
for precision in bf16 fp16 tf32 tf32x3 fp32; do
    step 60 "speed in $precision" "$programs/bench_generator" "$precision"
done

# The whole program: names of random weights, 1,024 hidden units, to a file; the same of fp32 and certified.
for job in "bf16 20000000" "certified 4000000" "tf32x3 1000000" "fp32 1000000" "certified 1000000"; do
    read -r precision names <<< "$job"
    printf 'app = "namegen"\ninput.count = %s\n[model]\nrandom = 3\n[generate]\nmax_length = 10\n' "$names" > "$folder/$precision-$names.toml"
    step 60 "sluice run, $names names in $precision" "$programs/sluice" run "$folder/$precision-$names.toml" \
        --set run.device=cuda --set run.precision="$precision" --set output.path="$folder/$precision-$names.txt"
done
step 10 "certified names are fp32's" cmp "$folder/fp32-1000000.txt" "$folder/certified-1000000.txt"

if command -v compute-sanitizer > /dev/null; then
    for tool in memcheck synccheck initcheck; do
        step 60 "$tool" compute-sanitizer --tool "$tool" --error-exitcode 99 "${tests[@]}" --gtest_filter="$small"
    done
    step 60 "memcheck of the tensor cores" compute-sanitizer --tool memcheck --error-exitcode 99 "${tests[@]}" --gtest_filter='GeneratorOnGpu.TakesOneStepInEveryPrecision'
else
    echo "== no compute-sanitizer here"
fi
finish
