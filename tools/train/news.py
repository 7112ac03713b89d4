#!/usr/bin/env python3
"""Trains the character CNN of examples/models/news.safetensors: news articles, four classes.

Reads a CSV file of AG's News (class 1 to 4, title, description), splits it by its seed (6,000 for training, 600 for
validation, 1,000 for test; each class alike), and trains with AdamW, a cosine rate, dropout, and heads on three of its
layers that are thrown away. Half of the training texts are articles, varied: the title of one with the description of
another of the same class, words left out, a stretch of the words. The other half is made of stretches of several
articles, of any class, and learns what a naive Bayes model of words says of them. What is kept is a running mean of the
weights, of the epoch with the best validation; rounded to F16 it states the accuracy on the test articles.
"""

import argparse
import collections
import csv
import json
import math
import pathlib
import random
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "export"))
import safetensors_file  # first: says what is missing  # noqa: E402
import classifier_from_torch  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402

from classifier_from_torch import LENGTH, SYMBOLS  # noqa: E402

LABELS = ["World", "Sports", "Business", "Sci/Tech"]
ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789-,;.!?:'\"/\\|_@#$%^&*~`+-=<>()[]{}\n"  # docs/classifier.md
VALIDATION = 150  # articles of each class
TEST = 250


def symbol_table():
    table = torch.full((256,), SYMBOLS)
    for number, character in enumerate(ALPHABET):  # the later hyphen wins
        table[ord(character)] = number
        table[ord(character.upper())] = number
    return table


def read_articles(path):
    """(class 0 to 3, title, description) of each record."""
    articles = []
    with open(path, encoding="utf-8", newline="") as file:
        for number, record in enumerate(csv.reader(file), 1):
            if len(record) != 3 or record[0] not in ("1", "2", "3", "4"):
                sys.exit(f"error: {path}: record {number}: expected a class from 1 to 4, a title, a description")
            articles.append((int(record[0]) - 1, record[1], record[2]))
    return articles


def split(articles, seed):
    """Training, validation and test articles; the same for the same seed."""
    parts = {"train": [], "validation": [], "test": []}
    for label in range(len(LABELS)):
        own = [article for article in articles if article[0] == label]
        if len(own) < 2 * (VALIDATION + TEST):
            sys.exit(f"error: got {len(own)} articles of class {label + 1}, expected at least {2 * (VALIDATION + TEST)}")
        random.Random(f"{seed}/{label}").shuffle(own)
        parts["test"] += own[:TEST]
        parts["validation"] += own[TEST : TEST + VALIDATION]
        parts["train"] += own[TEST + VALIDATION :]
    return parts


def encode(texts, table):
    """(items, LENGTH) symbols, backwards, as sluice encodes a text."""
    symbols = torch.full((len(texts), LENGTH), SYMBOLS)
    for row, text in enumerate(texts):
        kept = text.encode()[:LENGTH][::-1]
        symbols[row, : len(kept)] = table[torch.tensor(list(kept), dtype=torch.long)]
    return symbols


def joined(title, description):
    return f"{title} {description}"


def varied(article, by_class, dice):
    """A training text made of an article."""
    label, title, description = article
    if dice.random() < 0.4:
        title = dice.choice(by_class[label])[1]
    if dice.random() < 0.1:
        title, description = "", dice.choice((title, description))
    words = joined(title, description).replace("\\", " " if dice.random() < 0.5 else "\\").split()
    left_out = dice.random() * 0.3
    words = [word for word in words if dice.random() >= left_out]
    if dice.random() < 0.4 and len(words) > 12:
        kept = dice.randint(len(words) // 2, len(words))
        begin = dice.randint(0, len(words) - kept)
        words = words[begin : begin + kept]
    return " ".join(words)


class Teacher:
    """Naive Bayes over the words of the training articles: which classes a text has words of."""

    SMOOTHING = 0.3
    TEMPERATURE = 2.5  # many words make it far too sure

    def __init__(self, articles):
        counts = [collections.Counter() for _ in LABELS]
        for label, title, description in articles:
            counts[label].update(Teacher._words(joined(title, description)))
        known = set().union(*counts)
        totals = [sum(own.values()) + Teacher.SMOOTHING * len(known) for own in counts]
        self._logs = {word: torch.tensor([math.log((own[word] + Teacher.SMOOTHING) / total)
                                          for own, total in zip(counts, totals)]) for word in known}

    @staticmethod
    def _words(text):
        return set(re.findall("[a-z0-9]+", text.lower()))

    def probabilities(self, text):
        """(classes); words that no training article has say nothing."""
        logs = sum((self._logs[word] for word in Teacher._words(text) if word in self._logs), torch.zeros(len(LABELS)))
        return (logs / Teacher.TEMPERATURE).softmax(0)


def mixed(articles, dice):
    """Stretches of words of some articles, of any class."""
    words = []
    for _ in range(dice.randint(2, 5)):
        _, title, description = dice.choice(articles)
        own = joined(title, description).split()
        begin = dice.randint(0, max(0, len(own) - 4))
        words += own[begin : begin + dice.randint(4, 14)]
    return " ".join(words)


def training_texts(parts, by_class, teacher, arguments, dice):
    """(text, probabilities of the classes) for an epoch, one for each article: itself, varied, or as often a mixed
    text, of which the teacher says what it is."""
    rest = arguments.smoothing / len(LABELS)
    texts = []
    for article in parts["train"]:
        if dice.random() < 0.5:
            text = mixed(parts["train"], dice)
            texts.append((text, teacher.probabilities(text)))
        else:
            label = torch.full((len(LABELS),), rest)
            label[article[0]] += 1 - arguments.smoothing
            texts.append((varied(article, by_class, dice), label))
    dice.shuffle(texts)
    return texts


class NewsModel(nn.Module):
    def __init__(self, channels, hidden, dropout):
        super().__init__()
        self.conv1 = nn.Conv1d(SYMBOLS, channels, 7)
        self.norm1 = nn.LayerNorm([channels, LENGTH - 6])
        self.conv2 = nn.Conv1d(channels, channels, 7)
        for layer in (3, 4, 5, 6):
            self.add_module(f"conv{layer}", nn.Conv1d(channels, channels, 3))
        self.norm6 = nn.LayerNorm([channels, 102])
        self.fc1 = nn.Linear(34 * channels, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, len(LABELS))
        self.dropout = nn.Dropout(dropout)
        self.start()

    def start(self):
        """He's weights (He et al. 2015), but conv3 to conv6 near the identity, and fc1 the same for all positions: from
        quite random ones, so few articles teach nothing for many epochs."""
        for module in self.modules():
            if isinstance(module, (nn.Conv1d, nn.Linear)):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
                nn.init.zeros_(module.bias)
        with torch.no_grad():
            for conv in (self.conv3, self.conv4, self.conv5, self.conv6):
                random_part = 0.3 * conv.weight
                nn.init.dirac_(conv.weight).add_(random_part)
            hidden, channels = self.fc1.out_features, self.conv6.out_channels
            alike = torch.randn(hidden, channels, 1) * math.sqrt(2 / self.fc1.in_features)
            self.fc1.weight.copy_(alike.expand(-1, -1, 34).reshape(hidden, -1))
            self.fc3.weight.mul_(0.3)

    def forward(self, symbols):
        return self.layers(symbols)[0]

    def layers(self, symbols):
        """The scores, and the activations of conv1, conv2 and conv6, for training's own heads."""
        # Positions behind the longest text see blanks only, where conv1 gives its bias: nothing to multiply.
        used = int((symbols != SYMBOLS).any(0).nonzero().max()) + 1 if bool((symbols != SYMBOLS).any()) else 1
        positions = min(used, LENGTH - 6)
        one_hot = nn.functional.one_hot(symbols[:, : positions + 6], SYMBOLS + 1)[:, :, :SYMBOLS].float()
        seen = self.conv1(one_hot.transpose(1, 2))
        rest = self.conv1.bias[None, :, None].expand(len(symbols), -1, LENGTH - 6 - positions)
        first = self.norm1(torch.cat((seen, rest), 2)).relu()
        second = self.conv2(nn.functional.max_pool1d(first, 3)).relu()
        x = nn.functional.max_pool1d(second, 3)
        x = self.conv5(self.conv4(self.conv3(x).relu()).relu()).relu()
        sixth = self.norm6(self.conv6(x)).relu()
        x = self.dropout(nn.functional.max_pool1d(sixth, 3).flatten(1))
        x = self.fc2(self.dropout(self.fc1(x).relu())).relu()
        return self.fc3(x), (first, second, sixth)


def scores_of(model, articles, table):
    model.eval()
    texts = [joined(title, description) for _, title, description in articles]
    with torch.no_grad():
        return torch.cat([model(encode(texts[at : at + 50], table)) for at in range(0, len(texts), 50)])


def accuracy(model, articles, table):
    """(share of right labels, mean loss)."""
    scores = scores_of(model, articles, table)
    labels = torch.tensor([article[0] for article in articles])
    return float((scores.argmax(1) == labels).float().mean()), float(nn.functional.cross_entropy(scores, labels))


def train(model, parts, table, arguments):
    """Leaves the best epoch's mean weights in `model`; returns the epoch."""
    dice = random.Random(arguments.seed)
    teacher = Teacher(parts["train"])
    by_class = [[article for article in parts["train"] if article[0] == label] for label in range(len(LABELS))]
    # Deep supervision (Lee et al. 2015): what the first layers find has to tell the classes apart by itself. The heads,
    # each of its layer's maximum over all positions, are no part of the model.
    heads = nn.ModuleList([nn.Linear(arguments.channels, len(LABELS)) for _ in range(3)])
    parameters = [*model.named_parameters(), *heads.named_parameters()]
    decayed = [value for name, value in parameters if value.dim() > 1 and "norm" not in name]
    kept = [value for name, value in parameters if value.dim() == 1 or "norm" in name]
    optimiser = torch.optim.AdamW([{"params": decayed, "weight_decay": arguments.decay},
                                   {"params": kept, "weight_decay": 0.0}], lr=arguments.rate)
    steps_an_epoch = math.ceil(len(parts["train"]) / arguments.batch)
    steps = arguments.epochs * steps_an_epoch
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1.0, (step + 1) / 100) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * step / steps))))
    mean = {name: value.clone() for name, value in model.state_dict().items()}
    best, best_state, best_epoch = -1.0, None, 0
    begin = time.monotonic()
    for epoch in range(1, arguments.epochs + 1):
        model.train()
        texts = training_texts(parts, by_class, teacher, arguments, dice)
        pool = 8 * arguments.batch  # texts of like lengths travel together: conv1 has less to do
        batches = []
        for start in range(0, len(texts), pool):
            near = sorted(texts[start : start + pool], key=lambda text: len(text[0]))
            batches += [near[at : at + arguments.batch] for at in range(0, len(near), arguments.batch)]
        dice.shuffle(batches)
        total = 0.0
        for batch in batches:
            labels = torch.stack([label for _, label in batch])
            scores, activations = model.layers(encode([text for text, _ in batch], table))
            loss = nn.functional.cross_entropy(scores, labels)
            help_of_heads = sum(nn.functional.cross_entropy(head(values.amax(2)), labels)
                                for head, values in zip(heads, activations))
            optimiser.zero_grad()
            (loss + 0.3 * help_of_heads).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimiser.step()
            schedule.step()
            total += float(loss.detach()) * len(batch)
            for name, value in model.state_dict().items():
                mean[name].lerp_(value, 0.01)
        own = {name: value.clone() for name, value in model.state_dict().items()}
        model.load_state_dict(mean)
        share, validation_loss = accuracy(model, parts["validation"], table)
        print(f"epoch {epoch}: loss {total / len(texts):.4f}, validation {share:.4f}, loss {validation_loss:.4f}, "
              f"{time.monotonic() - begin:.0f} s{' *' if share > best else ''}", flush=True)
        if share > best:
            best, best_epoch = share, epoch
            best_state = {name: value.clone() for name, value in mean.items()}
            torch.save(best_state, pathlib.Path(arguments.to).with_suffix(".pt"))
        model.load_state_dict(own)
    model.load_state_dict(best_state)
    return best_epoch


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("articles", help="a CSV file of AG's News: class, title, description; no header")
    parser.add_argument("to", help="the .safetensors file to write; a .pt file and the figures as .json land beside it")
    parser.add_argument("--seed", type=int, default=1, help="of the split, the weights and the texts; default: %(default)s")
    parser.add_argument("--channels", type=int, default=64, help="a multiple of 64; default: %(default)s")
    parser.add_argument("--hidden", type=int, default=128, help="default: %(default)s")
    parser.add_argument("--dropout", type=float, default=0.3, help="default: %(default)s")
    parser.add_argument("--decay", type=float, default=0.02, help="AdamW's weight decay; default: %(default)s")
    parser.add_argument("--smoothing", type=float, default=0.1, help="of the labels; default: %(default)s")
    parser.add_argument("--rate", type=float, default=2e-3, help="AdamW's, at its highest; default: %(default)s")
    parser.add_argument("--batch", type=int, default=32, help="articles; default: %(default)s")
    parser.add_argument("--epochs", type=int, default=30, help="default: %(default)s")
    parser.add_argument("--threads", type=int, default=1, help="default: %(default)s")
    arguments = parser.parse_args()

    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    begin = time.monotonic()
    table = symbol_table()
    parts = split(read_articles(arguments.articles), arguments.seed)
    model = NewsModel(arguments.channels, arguments.hidden, arguments.dropout)
    best_epoch = train(model, parts, table, arguments)
    seconds = time.monotonic() - begin

    metadata = {"app": "classifier", "licence": "Apache-2.0",
                "data": "AG's News, 6,000 articles of the test split (Zhang, Zhao, LeCun 2015)", "seed": str(arguments.seed)}
    classifier_from_torch.export(pathlib.Path(arguments.to).with_suffix(".pt"), arguments.to, "F16", metadata,
                                 labels=LABELS)
    tensors = safetensors_file.read(arguments.to)[0]
    model.load_state_dict({name: tensors[classifier_from_torch.sluice_name(name)] for name in model.state_dict()})
    scores = scores_of(model, parts["test"], table)
    labels = torch.tensor([article[0] for article in parts["test"]])
    confusion = [[int(((labels == true) & (scores.argmax(1) == said)).sum()) for said in range(len(LABELS))]
                 for true in range(len(LABELS))]
    figures = {
        "split": {part: len(articles) for part, articles in parts.items()},
        "epochs": arguments.epochs,
        "best_epoch": best_epoch,
        "seconds": round(seconds),
        "validation": accuracy(model, parts["validation"], table),
        "test": accuracy(model, parts["test"], table),
        "train_each_sixth": accuracy(model, parts["train"][:: max(1, len(parts["train"]) // 1000)], table),
        "confusion_test": confusion,
    }
    pathlib.Path(arguments.to).with_suffix(".json").write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    safetensors_file.run(main)
