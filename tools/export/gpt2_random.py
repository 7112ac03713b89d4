#!/usr/bin/env python3
"""Writes a GPT-2 checkpoint of random weights: config.json and model.safetensors, for comparisons and trials.

Layers' weights are larger than GPT-2 begins with, whose untrained model only repeats its last token.
"""

import argparse
import pathlib
import sys

import safetensors_file  # first: says what is missing  # noqa: F401  # pylint: disable=unused-import
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "train"))
import gpt2_model  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="made if it is not there")
    parser.add_argument("--vocabulary", type=int, default=50257, help="default: %(default)s")
    parser.add_argument("--positions", type=int, default=1024, help="default: %(default)s")
    parser.add_argument("--width", type=int, default=768, help="default: %(default)s")
    parser.add_argument("--layers", type=int, default=12, help="default: %(default)s")
    parser.add_argument("--heads", type=int, default=12, help="default: %(default)s")
    parser.add_argument("--dtype", choices=sorted(gpt2_model.safetensors_file.DTYPES), default="F32", help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    arguments = parser.parse_args()
    if arguments.width % arguments.heads != 0:
        sys.exit(f"error: --width {arguments.width} is no multiple of --heads {arguments.heads}")
    last = arguments.vocabulary - 1
    model = gpt2_model.Gpt2(gpt2_model.Config(
        vocab_size=arguments.vocabulary, n_positions=arguments.positions, n_embd=arguments.width,
        n_layer=arguments.layers, n_head=arguments.heads, n_inner=4 * arguments.width, bos_token_id=last,
        eos_token_id=last))
    model.randomise(torch.Generator().manual_seed(arguments.seed))
    folder = pathlib.Path(arguments.folder)
    folder.mkdir(parents=True, exist_ok=True)
    model.write(folder, arguments.dtype, {"seed": str(arguments.seed), "data": "random"})


if __name__ == "__main__":
    gpt2_model.safetensors_file.run(main)
