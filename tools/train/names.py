#!/usr/bin/env python3
"""Trains the GRU of examples/models/names.safetensors: given names, a byte at a time.

Reads a file with a name a line, splits it by a hash of each name (90 % training, 5 % validation, 5 % test), trains with
Adam, halves the rate when the validation's loss stands still, keeps the best state, and stops when the rate has run out.
Then it rounds to F16 and states on the test names: the log-likelihood beside that of an interpolated Kneser-Ney 3-gram
model, and how many of 10,000 samples are new.
"""

import argparse
import json
import math
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "export"))
import safetensors_file  # first: says what is missing  # noqa: E402
import namegen_from_torch  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402

from split import split  # noqa: E402
from trigram import Trigram  # noqa: E402

SOS = 1
EOS = 0
CHARACTERS = 256
ABSENT = -20.0  # the logit of a byte that no training name has: e^-20 of the others' probability at most


def read_names(path):
    """Distinct names, capitalised, in the order of the file."""
    names = {}
    for number, line in enumerate(pathlib.Path(path).read_bytes().split(b"\n"), 1):
        if any(byte <= SOS for byte in line):
            sys.exit(f"error: {path}:{number}: a name holds byte 0 or 1, which end and start a name")
        if line:
            names[line[:1].upper() + line[1:]] = None
    if len(names) < 100:
        sys.exit(f"error: {path}: got {len(names)} names, expected at least 100, one a line")
    return list(names)


class NameModel(nn.Module):
    def __init__(self, embedding, hidden, layers, dropout):
        super().__init__()
        self.embedding = nn.Embedding(CHARACTERS, embedding)
        self.gru = nn.GRU(embedding, hidden, layers, batch_first=True, dropout=dropout)
        self.linear = nn.Linear(hidden, CHARACTERS)
        self.dropout = nn.Dropout(dropout)

    def forward(self, characters, state=None):
        out, state = self.gru(self.dropout(self.embedding(characters)), state)
        return self.linear(self.dropout(out)), state

    def silence(self, absent):
        """Bytes that no training name has: no weights, and a bias that makes them (nearly) impossible."""
        with torch.no_grad():
            self.linear.weight[absent] = 0
            self.linear.bias[absent] = ABSENT


def batch_of(names, device):
    """Inputs and targets (items, steps), padded with -1 in the targets."""
    steps = max(map(len, names)) + 1
    inputs = torch.zeros(len(names), steps, dtype=torch.long)
    targets = torch.full((len(names), steps), -1)
    for row, name in enumerate(names):
        inputs[row, : len(name) + 1] = torch.tensor([SOS, *name])
        targets[row, : len(name) + 1] = torch.tensor([*name, EOS])
    return inputs.to(device), targets.to(device)


def device_of(model):
    return model.linear.weight.device


def total_loss(model, inputs, targets):
    """-log p of all names together, in nats."""
    logits, _ = model(inputs)
    return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1, reduction="sum")


def log_likelihood(model, names):
    """(a character, a name): means in nats; the end of a name counts as a character."""
    model.eval()
    total = 0.0
    ordered = sorted(names, key=len)
    with torch.no_grad():
        for begin in range(0, len(ordered), 512):
            total -= float(total_loss(model, *batch_of(ordered[begin : begin + 512], device_of(model))))
    return total / sum(len(name) + 1 for name in names), total / len(names)


def sample(model, count, longest, generator):
    """Names of at most `longest` characters; one that has not ended by then is cut."""
    model.eval()
    names = []
    with torch.no_grad():
        while len(names) < count:
            rows = min(1000, count - len(names))
            characters = torch.full((rows, 1), SOS, device=device_of(model))
            state = None
            drawn = []
            for _ in range(longest):
                logits, state = model(characters, state)
                drawn.append(torch.multinomial(logits[:, -1].softmax(-1).cpu(), 1, generator=generator))
                characters = drawn[-1].to(characters.device)
            for row in torch.cat(drawn, 1).tolist():
                names.append(bytes(row[: row.index(EOS)] if EOS in row else row))
    return names


def train(model, parts, arguments, generator):
    """Leaves the best state in `model`; returns the number of epochs."""
    present = {byte for name in parts["train"] for byte in name} | {EOS}
    absent = [byte for byte in range(CHARACTERS) if byte not in present]
    optimiser = torch.optim.AdamW(model.parameters(), lr=arguments.rate, weight_decay=arguments.decay)
    names = parts["train"]
    best, best_state, waited, rate = -math.inf, None, 0, arguments.rate
    begin = time.monotonic()
    for epoch in range(1, arguments.epochs + 1):
        model.train()
        order = torch.randperm(len(names), generator=generator).tolist()
        pool = 16 * arguments.batch  # names of like lengths travel together: less padding
        batches = []
        for start in range(0, len(order), pool):
            near = sorted((names[i] for i in order[start : start + pool]), key=len)
            batches += [near[at : at + arguments.batch] for at in range(0, len(near), arguments.batch)]
        for at in torch.randperm(len(batches), generator=generator).tolist():
            model.silence(absent)
            inputs, targets = batch_of(batches[at], device_of(model))
            loss = total_loss(model, inputs, targets) / int((targets >= 0).sum())
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
        model.silence(absent)
        character, name = log_likelihood(model, parts["validation"])
        better = character > best
        print(f"epoch {epoch}: rate {rate:.5f}, validation {character:.4f} a character, {name:.3f} a name, "
              f"{time.monotonic() - begin:.0f} s{' *' if better else ''}", flush=True)
        if better:
            best, waited = character, 0
            best_state = {key: value.clone() for key, value in model.state_dict().items()}
            continue
        waited += 1
        if waited == arguments.patience:
            rate, waited = rate / 2, 0
            if rate < arguments.rate / 20:
                break
            model.load_state_dict(best_state)
            optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=arguments.decay)
    model.load_state_dict(best_state)
    return epoch


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", help="a file with a name a line")
    parser.add_argument("to", help="the .safetensors file to write; a .pt file and the figures as .json land beside it")
    parser.add_argument("--seed", type=int, default=1, help="of the split, the weights and the order; default: %(default)s")
    parser.add_argument("--embedding", type=int, default=64, help="default: %(default)s")
    parser.add_argument("--hidden", type=int, default=192, help="default: %(default)s")
    parser.add_argument("--layers", type=int, default=2, help="default: %(default)s")
    parser.add_argument("--dropout", type=float, default=0.3, help="default: %(default)s")
    parser.add_argument("--decay", type=float, default=0.01, help="AdamW's weight decay; default: %(default)s")
    parser.add_argument("--rate", type=float, default=2e-3, help="Adam's, at the start; default: %(default)s")
    parser.add_argument("--batch", type=int, default=128, help="names; default: %(default)s")
    parser.add_argument("--patience", type=int, default=3,
                        help="epochs without a better validation before the rate is halved; default: %(default)s")
    parser.add_argument("--epochs", type=int, default=80, help="at most; default: %(default)s")
    parser.add_argument("--longest", type=int, default=15, help="characters of a sample; default: %(default)s")
    parser.add_argument("--threads", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--device", default="cpu", help="torch's: cpu, cuda, cuda:1; default: %(default)s")
    arguments = parser.parse_args()

    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    generator = torch.Generator().manual_seed(arguments.seed)
    begin = time.monotonic()
    parts = split(read_names(arguments.names), arguments.seed)
    model = NameModel(arguments.embedding, arguments.hidden, arguments.layers, arguments.dropout).to(arguments.device)
    epochs = train(model, parts, arguments, generator)
    state_path = str(pathlib.Path(arguments.to).with_suffix(".pt"))
    torch.save({key: value.cpu() for key, value in model.state_dict().items()}, state_path)
    seconds = time.monotonic() - begin

    metadata = {"app": "namegen", "licence": "Apache-2.0", "data": "karpathy/makemore names.txt (MIT)",
                "seed": str(arguments.seed), "max_length": str(arguments.longest)}
    namegen_from_torch.export(state_path, arguments.to, "F16", metadata)
    model.load_state_dict(safetensors_file.read(arguments.to)[0])

    trigram = Trigram.tuned(parts["train"], parts["validation"])
    known = set(parts["train"])
    test = set(parts["test"])
    samples = sample(model, 10000, arguments.longest, generator)
    figures = {
        "split": {part: len(names) for part, names in parts.items()},
        "epochs": epochs,
        "seconds": round(seconds),
        "validation": log_likelihood(model, parts["validation"]),
        "test": log_likelihood(model, parts["test"]),
        "train": log_likelihood(model, parts["train"]),
        "trigram_discount": trigram.discount,
        "trigram_test": trigram.log_likelihood(parts["test"]),
        "samples": len(samples),
        "novel": sum(name not in known for name in samples) / len(samples),
        "distinct": len(set(samples)) / len(samples),
        "among_test": sum(name in test for name in samples) / len(samples),
        "letters_only": sum(name.isalpha() for name in samples) / len(samples),
        "mean_length": sum(map(len, samples)) / len(samples),
        "cut": sum(len(name) == arguments.longest for name in samples) / len(samples),
        "examples": [name.decode("latin-1") for name in samples[:60]],
    }
    pathlib.Path(arguments.to).with_suffix(".json").write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    safetensors_file.run(main)
