#!/usr/bin/env bash
# Tests and measures the decoder on a GPU, in some five minutes: its kernels one by one, the whole of it against the host
# and plain loops, its speed with each kernel's share of its limit, and a part of the tests under compute-sanitizer.
#   decoder_on_gpu.sh [FOLDER OF THE PROGRAMS]     (build/cuda-90a/bin)
# Ends with 1 if any step has failed; the speed is printed all the same.
set -euo pipefail

programs=${1:-build/cuda-90a/bin}
# shellcheck source=tools/bench/gpu_steps.sh
. "$(dirname -- "$0")/gpu_steps.sh"

tests=("$programs/cuda_kernels_test" --gtest_brief=1)
examples=$(dirname "$0")/../../examples

step 30 "kernels one by one" "${tests[@]}" --gtest_filter='DecoderP*:TwoPart*:GemmOnGpu.*Active*'
step 30 "fp32 against the host" "${tests[@]}" --gtest_filter='DecoderOnGpu.ContinuesAsTheHost*:DecoderOnGpu.Counts*:DecoderOnGpu.Says*'
step 40 "every precision against plain loops" "${tests[@]}" --gtest_filter='DecoderOnGpu.ContinuesAsThePlain*:DecoderOnGpu.ContinuesNearly*:DecoderOnGpu.TakesTheSame*'
step 90 "speed in bf16" "$programs/bench_decoder" bf16 long cache "$examples/models/gpt2/model.safetensors" products
step 90 "certified continuations" "$programs/apps_cuda_test" --gtest_brief=1 --gtest_filter='CertifiedContinuations.*'
step 40 "neighbours" "${tests[@]}" --gtest_filter='DecoderOnGpu.Gives*'
for precision in tf32 tf32x3 fp16x2 fp32 fp16 fp8 certified; do
    step 40 "speed in $precision" "$programs/bench_decoder" "$precision"
done

# The whole program: the small model that comes along, whose host and GPU write the same in fp32; then random weights of
# 124M parameters.
for device in host cuda; do
    step 30 "sluice run, the small model on $device" "$programs/sluice" run "$examples/gpt2.toml" \
        --set run.device="$device" --set generate.log_probability=false --set output.path="$folder/$device.jsonl"
done
step 10 "host and GPU write the same" cmp "$folder/host.jsonl" "$folder/cuda.jsonl"
awk 'BEGIN { for (i = 0; i < 131072; ++i) { line = ""; for (j = 0; j < 16; ++j) line = line " " int(rand() * 50257); print substr(line, 2) } }' \
    > "$folder/ids.txt"
printf 'app = "gpt2"\ninput.path = "%s"\nmodel.random = 1\n[generate]\nprompts = "ids"\nresults = "ids"\nmax_prompt_tokens = 16\nmax_new_tokens = 8\ntemperature = 0\n' \
    "$folder/ids.txt" > "$folder/random.toml"
head -n 65536 "$folder/ids.txt" > "$folder/some-ids.txt"
for job in "bf16 ids" "certified ids" "fp32 some-ids" "certified some-ids"; do
    read -r precision ids <<< "$job"
    step 60 "sluice run, $(wc -l < "$folder/$ids.txt") prompts in $precision" "$programs/sluice" run "$folder/random.toml" --set run.device=cuda \
        --set run.precision="$precision" --set input.path="$folder/$ids.txt" --set output.path="$folder/$precision-$ids.jsonl"
done
step 10 "certified continuations are fp32's" cmp "$folder/fp32-some-ids.jsonl" "$folder/certified-some-ids.jsonl"
head -n 16384 "$folder/ids.txt" > "$folder/few-ids.txt"
for precision in fp32 certified; do
    step 60 "sluice run, 16384 prompts drawn in $precision" "$programs/sluice" run "$folder/random.toml" --set run.device=cuda --set run.precision="$precision" \
        --set generate.temperature=0.9 --set generate.top_k=40 --set input.path="$folder/few-ids.txt" --set output.path="$folder/$precision-drawn.jsonl"
done
step 10 "certified draws are fp32's" cmp "$folder/fp32-drawn.jsonl" "$folder/certified-drawn.jsonl"

if command -v compute-sanitizer > /dev/null; then
    for tool in memcheck synccheck initcheck; do
        step 40 "$tool" compute-sanitizer --tool "$tool" --error-exitcode 99 "${tests[@]}" --gtest_filter='DecoderP*'
    done
else
    echo "== no compute-sanitizer here"
fi
finish
