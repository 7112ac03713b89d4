#!/usr/bin/env python3
"""Trains the small GPT-2 of examples/models/gpt2: the prose of Markdown files, a section at a time.

Reads the files, drops code, tables, comments and links' targets, and takes each heading with its paragraphs as a text.
Splits texts by a hash of each (90 % training, 5 % validation, 5 % test), learns a vocabulary from the training texts,
trains with AdamW and a cosine rate, keeps the state with the best validation, rounds it to F16, and states on the test
texts: the log-likelihood beside that of an interpolated Kneser-Ney 3-gram model of the same tokens.
"""

import argparse
import json
import pathlib
import random
import re
import sys
import time

import gpt2_model  # first: says what is missing
import byte_pairs
import torch
from torch import nn
from gpt2_model import safetensors_file
from split import split
from trigram import Trigram

MERGES = 511  # with 256 bytes and the end of text: 768 tokens
SHORTEST = 40  # characters of a text
RESERVED = 2  # numbers that Trigram keeps for a text's start and end


def prose(markdown):
    """The texts of a file: a heading, and its paragraphs, each of them one line."""
    markdown = re.sub(r"<!--.*?-->", "", markdown, flags=re.S)
    markdown = re.sub(r"^( *)(```|~~~).*?^\1\2 *$", "", markdown, flags=re.S | re.M)
    markdown = re.sub(r"^\[[^\]]*\]: .*$", "", markdown, flags=re.M)
    markdown = re.sub(r"^ *\|.*$", "", markdown, flags=re.M)
    markdown = re.sub(r"\[([^\[\]]*)\](\[[^\]]*\]|\([^)]*\))", r"\1", markdown)
    texts = []
    for section in re.split(r"^#+ +", markdown, flags=re.M)[1:]:
        heading, _, rest = section.partition("\n")
        paragraphs = [re.sub(r"\s+", " ", part).strip() for part in re.split(r"\n\s*\n|\n(?=\s*[*>-] )", rest)]
        text = "\n".join([heading.strip()] + [part for part in paragraphs if part])
        if len(text) >= SHORTEST and any(paragraphs):
            texts.append(text)
    return texts


def read_texts(paths):
    """Different ones, in order."""
    texts = {}
    for path in paths:
        for text in prose(pathlib.Path(path).read_text(encoding="utf-8")):
            texts[text.encode()] = None
    if len(texts) < 100:
        sys.exit(f"error: got {len(texts)} texts, expected at least 100; name Markdown files with headings")
    return list(texts)


def stream_of(texts, end):
    """Token ids, each text behind an end of text."""
    return torch.tensor([token for text in texts for token in (end, *text)] + [end])


def log_likelihood(model, texts, end):
    """(a token, all): in nats, a text's end counted as a token; every token sees at least half the context, or all there is."""
    model.eval()
    context = model.config.n_positions
    total, count = 0.0, 0
    with torch.no_grad():
        for text in texts:
            ids = torch.tensor([end, *text, end])
            done = 0  # targets counted
            while done < len(ids) - 1:
                first = max(0, done - context // 2)
                part = ids[first : first + context + 1]
                losses = nn.functional.cross_entropy(model(part[None, :-1])[0], part[1:], reduction="none")
                total -= float(losses[done - first :].sum())
                count += len(losses) - (done - first)
                done = first + len(losses)
    return total / count, total


def train(model, parts, end, arguments, generator):
    """Leaves the best state in `model`."""
    stream = stream_of(parts["train"], end)
    context = model.config.n_positions
    decayed = [value for value in model.parameters() if value.dim() > 1]
    kept = [value for value in model.parameters() if value.dim() == 1]
    optimiser = torch.optim.AdamW([{"params": decayed, "weight_decay": arguments.decay},
                                   {"params": kept, "weight_decay": 0.0}], lr=arguments.rate, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, arguments.rate, arguments.steps, pct_start=0.05)
    best, best_state = -float("inf"), None
    begin = time.monotonic()
    for step in range(1, arguments.steps + 1):
        model.train()
        starts = torch.randint(len(stream) - context - 1, (arguments.batch,), generator=generator)
        rows = torch.stack([stream[start : start + context + 1] for start in starts.tolist()])
        loss = nn.functional.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        if step % arguments.look == 0 or step == arguments.steps:
            token, _ = log_likelihood(model, parts["validation"], end)
            print(f"step {step}: loss {float(loss):.3f}, validation {token:.4f} a token, "
                  f"{time.monotonic() - begin:.0f} s{' *' if token > best else ''}", flush=True)
            if token > best:
                best, best_state = token, {key: value.clone() for key, value in model.state_dict().items()}
    model.load_state_dict(best_state)


def shifted(texts):
    return [[token + RESERVED for token in text] for text in texts]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="+", help="Markdown files")
    parser.add_argument("--to", required=True, help="the folder to write; figures.json lands there too")
    parser.add_argument("--data", default="", help="where the texts come from, and their licence; for the file's metadata")
    parser.add_argument("--seed", type=int, default=1, help="of the split, the weights and the order; default: %(default)s")
    parser.add_argument("--width", type=int, default=96, help="default: %(default)s")
    parser.add_argument("--layers", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--heads", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--positions", type=int, default=128, help="default: %(default)s")
    parser.add_argument("--dropout", type=float, default=0.0, help="default: %(default)s")
    parser.add_argument("--decay", type=float, default=0.02, help="AdamW's weight decay; default: %(default)s")
    parser.add_argument("--rate", type=float, default=4e-3, help="AdamW's, at its highest; default: %(default)s")
    parser.add_argument("--batch", type=int, default=16, help="stretches of text; default: %(default)s")
    parser.add_argument("--steps", type=int, default=4500, help="default: %(default)s")
    parser.add_argument("--look", type=int, default=500, help="steps between looks at the validation; default: %(default)s")
    parser.add_argument("--threads", type=int, default=1, help="default: %(default)s")
    arguments = parser.parse_args()

    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    random.seed(arguments.seed)
    generator = torch.Generator().manual_seed(arguments.seed)
    begin = time.process_time()
    parts = split(read_texts(arguments.texts), arguments.seed)
    encoder = byte_pairs.Encoder(byte_pairs.learn([text.decode() for text in parts["train"]], MERGES))
    tokens = {part: [encoder.encode(text.decode()) for text in texts] for part, texts in parts.items()}
    end = encoder.end
    config = gpt2_model.Config(
        vocab_size=len(encoder.ids), n_positions=arguments.positions, n_embd=arguments.width, n_layer=arguments.layers,
        n_head=arguments.heads, n_inner=4 * arguments.width, bos_token_id=end, eos_token_id=end)
    model = gpt2_model.Gpt2(config, arguments.dropout)
    model.start(generator)
    train(model, tokens, end, arguments, generator)
    seconds = time.process_time() - begin

    folder = pathlib.Path(arguments.to)
    folder.mkdir(parents=True, exist_ok=True)
    model.write(folder, "F16", {"app": "gpt2", "licence": "Apache-2.0", "data": arguments.data, "seed": str(arguments.seed)})
    encoder.write(folder)
    model = gpt2_model.Gpt2.read(folder)
    trigram = Trigram.tuned(shifted(tokens["train"]), shifted(tokens["validation"]))
    figures = {
        "texts": {part: len(texts) for part, texts in parts.items()},
        "bytes": {part: sum(map(len, texts)) for part, texts in parts.items()},
        "tokens": {part: sum(map(len, texts)) for part, texts in tokens.items()},
        "values": sum(value.numel() for value in model.parameters()),
        "cpu_seconds": round(seconds),
        "test": log_likelihood(model, tokens["test"], end)[0],
        "validation": log_likelihood(model, tokens["validation"], end)[0],
        "train_each_tenth": log_likelihood(model, tokens["train"][::10], end)[0],
        "trigram_discount": trigram.discount,
        "trigram_test": trigram.log_likelihood(shifted(tokens["test"]))[0],
    }
    (folder / "figures.json").write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    safetensors_file.run(main)
