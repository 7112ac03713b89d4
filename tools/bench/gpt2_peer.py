#!/usr/bin/env python3
"""New tokens a second of Hugging Face transformers on a GPU, for the prompts that bench_decoder times: random parameters,
of GPT-2 124M or of the shape of a config.json, every text as long as it may be; greedy, or drawn with --temperature.

    tools/bench/gpt2_peer.py [--config config.json] [--precision bfloat16] [--prompts 8192] [--least 16] [--most 16]
                             [--tokens 8] [--batches 512 2048 8192] [--temperature 1 --top-k 40 --top-p 0.9]

Prompts lie sorted by length, so that little is padding; the ids are on the GPU before and after. For each size of a
batch the median of --repeats runs over all prompts; the first run is not counted. Exit code 69: no transformers or no GPU.
"""

import argparse
import json
import random
import statistics
import sys
import time

UNAVAILABLE = 69


def load_model(precision, config):
    try:
        import torch  # pylint: disable=import-outside-toplevel
        import transformers  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        print(f"error: {error.name} is missing; pip install torch transformers", file=sys.stderr)
        sys.exit(UNAVAILABLE)
    if not torch.cuda.is_available():
        print("error: torch sees no GPU", file=sys.stderr)
        sys.exit(UNAVAILABLE)
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    shape = {"model_type": "gpt2"}
    if config:
        with open(config, encoding="utf-8") as file:
            shape = json.load(file)
    with torch.device("cuda"):
        model = transformers.AutoModelForCausalLM.from_config(
            transformers.AutoConfig.for_model(**shape), attn_implementation="sdpa")
    model = model.to("cuda", torch.float32 if precision in ("tf32", "float32") else getattr(torch, precision)).eval()
    model.generation_config.eos_token_id = None
    model.generation_config.pad_token_id = 0
    return model


def padded(prompts, torch):
    """Ids and which of them count, padded on the left."""
    longest = max(map(len, prompts))
    ids = torch.tensor([[0] * (longest - len(prompt)) + prompt for prompt in prompts])
    mask = torch.tensor([[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts])
    return ids.cuda(), mask.cuda()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--precision", choices=["bfloat16", "float16", "tf32", "float32"], default="bfloat16")
    parser.add_argument("--prompts", type=int, default=8192)
    parser.add_argument("--least", type=int, default=16, help="tokens of a prompt")
    parser.add_argument("--most", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=8, help="new ones")
    parser.add_argument("--batches", type=int, nargs="+", default=[512, 2048, 8192])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--config", help="config.json of the model; its weights are random")
    parser.add_argument("--temperature", type=float, default=0, help="0: greedy")
    parser.add_argument("--top-k", type=int, default=0, help="0: all")
    parser.add_argument("--top-p", type=float, default=1)
    arguments = parser.parse_args()
    model = load_model(arguments.precision, arguments.config)
    choice = {"do_sample": False}
    if arguments.temperature > 0:
        choice = {"do_sample": True, "temperature": arguments.temperature, "top_k": arguments.top_k, "top_p": arguments.top_p}
    import torch  # pylint: disable=import-outside-toplevel

    dice = random.Random(1)
    prompts = sorted(([dice.randrange(model.config.vocab_size) for _ in range(dice.randint(arguments.least, arguments.most))]
                      for _ in range(arguments.prompts)), key=len)
    for batch in arguments.batches:
        batches = [padded(prompts[i : i + batch], torch) for i in range(0, len(prompts), batch)]
        seconds = []
        for _ in range(1 + arguments.repeats):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            with torch.inference_mode():
                for ids, mask in batches:
                    out = model.generate(ids, attention_mask=mask, max_new_tokens=arguments.tokens, **choice)
                    assert out.shape[1] == ids.shape[1] + arguments.tokens
            torch.cuda.synchronize()
            seconds.append(time.perf_counter() - begin)
        rate = arguments.prompts * arguments.tokens / statistics.median(seconds[1:])
        print(f"transformers {arguments.precision}: {arguments.prompts} prompts of {arguments.least} to {arguments.most} tokens, "
              f"{arguments.tokens} new ones, batches of {batch}: {rate:.0f} tokens/s", flush=True)


if __name__ == "__main__":
    main()
