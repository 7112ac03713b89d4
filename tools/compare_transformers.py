#!/usr/bin/env python3
"""Runs a GPT-2 or Llama checkpoint on the same prompts through sluice and through a reference, and compares tokens and scores.

    tools/compare_transformers.py FOLDER                       # with Hugging Face transformers, where it is installed
    tools/compare_transformers.py FOLDER --reference torch     # with tools/train/gpt2_model.py, plain PyTorch
    tools/compare_transformers.py FOLDER --prompts articles.txt --tokens 16

FOLDER has config.json and model.safetensors, or its index; for prompts as text, vocab.json and merges.txt too, by which
they are cut as GPT-2 cuts texts. Prompts are random token ids of mixed length otherwise. Everything is greedy and fp32.
At the first token that differs, the reference's scores of both have to be closer than --tie: such ties are listed, and
other differences too. The log-probability of each new token, which is its score less the logarithm of a sum over those of
all tokens, is compared with the reference's for the same token. Exit code 1: something differs; 66: a file is missing;
69: the reference is not installed.
"""

import argparse
import csv
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "train"))

NO_INPUT = 66
UNAVAILABLE = 69


def load_reference(name, folder):
    """A function from token ids (items, length) to scores (items, length, vocabulary), both tensors."""
    try:
        import torch  # pylint: disable=import-outside-toplevel
    except ImportError:
        print("error: torch is missing; apt-get install python3-torch, or pip install torch", file=sys.stderr)
        sys.exit(UNAVAILABLE)
    torch.set_grad_enabled(False)
    if name == "torch":
        from gpt2_model import Gpt2  # pylint: disable=import-outside-toplevel
        return Gpt2.read(folder)
    try:
        import transformers  # pylint: disable=import-outside-toplevel
    except ImportError:
        print("error: transformers is missing; pip install transformers, or compare with --reference torch",
              file=sys.stderr)
        sys.exit(UNAVAILABLE)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).float().eval()
    return lambda ids: model(ids).logits


def random_prompts(count, vocabulary, longest, dice):
    return [[dice.randrange(vocabulary) for _ in range(dice.randrange(1, longest + 1))] for _ in range(count)]


def text_prompts(path, folder, longest):
    from byte_pairs import Encoder  # pylint: disable=import-outside-toplevel
    try:
        encoder = Encoder.read(folder)
    except FileNotFoundError as error:
        sys.exit(f"error: {error.filename} is missing; prompts as text take vocab.json and merges.txt, random ones neither")
    lines = pathlib.Path(path).read_text(encoding="utf-8").split("\n")
    return [ids[-longest:] for ids in map(encoder.encode, lines) if ids]


def run_sluice(program, device, folder, prompts, longest, tokens):
    """For each prompt the new tokens and their log-probabilities."""
    with tempfile.TemporaryDirectory() as work:
        job = pathlib.Path(work) / "job.toml"
        (pathlib.Path(work) / "ids.txt").write_text("".join(" ".join(map(str, ids)) + "\n" for ids in prompts))
        names = ["model.safetensors", "model.safetensors.index.json"]
        weights = next((path for path in (pathlib.Path(folder) / name for name in names) if path.exists()), None)
        if weights is None:
            sys.exit(f"error: {folder} has neither of {', '.join(names)}")
        quoted = json.dumps(str(weights.resolve()), ensure_ascii=False)
        job.write_text(
            f'app = "gpt2"\ninput.path = "ids.txt"\nmodel.weights = {quoted}\noutput.path = "out.csv"\n'
            f'[run]\ndevice = "{device}"\n[generate]\nprompts = "ids"\nresults = "ids"\ntoken_log_probabilities = true\n'
            f"end_of_text = false\nmax_prompt_tokens = {longest}\nmax_new_tokens = {tokens}\n")
        done = subprocess.run([program, "run", str(job), "--no-progress"], stdout=subprocess.PIPE, check=False)
        if done.returncode != 0:
            sys.exit(f"error: {program} ended with {done.returncode}")
        with open(pathlib.Path(work) / "out.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    return [([int(row[f"token_{t}"]) for t in range(tokens)],
             [float(row[f"token_log_probability_{t}"]) for t in range(tokens)]) for row in rows]


class Comparison:
    """Counts what is the same, lists what is not."""

    def __init__(self, tie):
        self.tie = tie
        self.same = self.ties = self.differences = 0
        self.furthest = 0.0
        self.listed = []

    def add(self, item, scores, ours, log_probabilities):
        """`scores` (new tokens, vocabulary): the reference's, with sluice's tokens as the text so far."""
        best = scores.argmax(1).tolist()
        of_ours = scores.double().log_softmax(1).gather(1, scores.new_tensor(ours).long()[:, None])[:, 0].tolist()
        for a, b in zip(of_ours, log_probabilities):
            self.furthest = max(self.furthest, math.inf if math.isnan(a - b) else abs(a - b))
        wrong = [t for t in range(len(ours)) if best[t] != ours[t]]
        if not wrong:
            self.same += 1
            return
        gaps = [float(scores[t, best[t]] - scores[t, ours[t]]) for t in wrong]
        kind = "tie" if max(gaps) < self.tie else "difference"
        self.ties += kind == "tie"
        self.differences += kind != "tie"
        self.listed.append(f"  prompt {item}, new token {wrong[0]}: {ours[wrong[0]]} here, {best[wrong[0]]} there, "
                           f"gap {max(gaps):.2g}: {kind}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="the checkpoint")
    parser.add_argument("--reference", choices=["transformers", "torch"], default="transformers", help="default: %(default)s")
    parser.add_argument("--program", default=str(HERE.parent / "build/release/bin/sluice"), help="default: %(default)s")
    parser.add_argument("--device", choices=["host", "cuda"], default="host", help="of sluice; default: %(default)s")
    parser.add_argument("--prompts", help="a file with a prompt a line; else they are random")
    parser.add_argument("--count", type=int, default=1000, help="random prompts; default: %(default)s")
    parser.add_argument("--longest", type=int, default=64, help="tokens of a prompt at most; default: %(default)s")
    parser.add_argument("--tokens", type=int, default=8, help="new ones; default: %(default)s")
    parser.add_argument("--tie", type=float, default=1e-4, help="a difference of scores; default: %(default)s")
    parser.add_argument("--most", type=float, default=1e-4,
                        help="difference of a token's log-probabilities; default: %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    arguments = parser.parse_args()
    reference = load_reference(arguments.reference, arguments.folder)
    import torch  # pylint: disable=import-outside-toplevel

    vocabulary = json.loads((pathlib.Path(arguments.folder) / "config.json").read_text(encoding="utf-8"))["vocab_size"]
    if arguments.prompts:
        prompts = text_prompts(arguments.prompts, arguments.folder, arguments.longest)
    else:
        prompts = random_prompts(arguments.count, vocabulary, arguments.longest, random.Random(arguments.seed))
    results = run_sluice(arguments.program, arguments.device, arguments.folder, prompts, arguments.longest, arguments.tokens)

    comparison = Comparison(arguments.tie)
    for item, (prompt, (ours, log_probabilities)) in enumerate(zip(prompts, results)):
        text = torch.tensor([prompt + ours[:-1]])
        comparison.add(item, reference(text)[0, len(prompt) - 1 :], ours, log_probabilities)
    different = len({tuple(ours) for ours, _ in results})
    print(f"{len(prompts)} prompts of 1 to {max(map(len, prompts))} tokens, {arguments.tokens} new ones each, "
          f"{different} different continuations, against {arguments.reference}")
    print(f"identical: {comparison.same}, ties below {arguments.tie:g}: {comparison.ties}, "
          f"other differences: {comparison.differences}; a token's log-probability differs by {comparison.furthest:.2g} at most")
    for line in comparison.listed:
        print(line)
    return 1 if comparison.differences or comparison.furthest > arguments.most else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except FileNotFoundError as missing:
        print(f"error: {missing.filename}: {missing.strerror}", file=sys.stderr)
        sys.exit(NO_INPUT)
