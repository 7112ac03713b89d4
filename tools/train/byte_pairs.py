"""GPT-2's byte-level byte-pair encoding, plainly: learns merges from a text, encodes and decodes, reads and writes the files.

Needs the package regex (`apt-get install python3-regex`), which knows Unicode's classes.
"""

import collections
import json
import pathlib
import sys

try:
    import regex
except ImportError:
    sys.exit("error: regex is missing; apt-get install python3-regex, or pip install regex")

END_OF_TEXT = "<|endoftext|>"
WORDS = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")


def alphabet():
    """The character that spells each byte in the files."""
    seen = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in seen]
    return {**{byte: chr(byte) for byte in seen}, **{byte: chr(0x100 + i) for i, byte in enumerate(others)}}


SPELLING = alphabet()
BYTES = {character: byte for byte, character in SPELLING.items()}


def spelt(data):
    return "".join(SPELLING[byte] for byte in data)


def joined(word, left, right):
    """`word`, a tuple of tokens, with each pair (left, right) joined, from the left."""
    out = []
    at = 0
    while at < len(word):
        if word[at : at + 2] == (left, right):
            out.append(left + right)
            at += 2
        else:
            out.append(word[at])
            at += 1
    return tuple(out)


def learn(texts, count):
    """The `count` merges of the pairs that are most frequent, each after those before it; of equal ones the least."""
    words = collections.Counter(tuple(spelt(word.encode())) for text in texts for word in WORDS.findall(text))
    words = [[word, number] for word, number in sorted(words.items())]
    pairs = collections.Counter()
    places = collections.defaultdict(set)
    for i, (word, number) in enumerate(words):
        for pair in zip(word, word[1:]):
            pairs[pair] += number
            places[pair].add(i)
    merges = []
    while len(merges) < count:
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        for i in sorted(places[best]):
            old, number = words[i]
            new = joined(old, *best)
            words[i][0] = new
            for pair in zip(old, old[1:]):
                pairs[pair] -= number
            for pair in zip(new, new[1:]):
                pairs[pair] += number
                places[pair].add(i)
        del pairs[best]
        pairs += collections.Counter()  # drops what is no longer there
    return merges


def read_merges(path):
    lines = pathlib.Path(path).read_text(encoding="utf-8").split("\n")
    return [tuple(line.split(" ")) for line in lines if line and not line.startswith("#version")]


def read_ids(path):
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))


class Encoder:
    """Texts to token ids and back."""

    def __init__(self, merges, ids=None):
        """`ids`: a dict of tokens, as the files spell them, and numbers; without it bytes, merges and the end of text."""
        tokens = [SPELLING[byte] for byte in sorted(SPELLING)] + ["".join(merge) for merge in merges] + [END_OF_TEXT]
        self.ids = ids or {token: i for i, token in enumerate(tokens)}
        self.end = self.ids.get(END_OF_TEXT)
        self._merges = [tuple(merge) for merge in merges]
        self._ranks = {merge: i for i, merge in enumerate(self._merges)}
        self._tokens = {i: token for token, i in self.ids.items()}
        self._known = {}

    @staticmethod
    def read(folder):
        """From vocab.json and merges.txt."""
        return Encoder(read_merges(pathlib.Path(folder) / "merges.txt"), read_ids(pathlib.Path(folder) / "vocab.json"))

    def write(self, folder):
        folder = pathlib.Path(folder)
        (folder / "vocab.json").write_text(json.dumps(self.ids, ensure_ascii=False) + "\n", encoding="utf-8")
        lines = ["#version: 0.2"] + [f"{left} {right}" for left, right in self._merges]
        (folder / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _of_word(self, word):
        tokens = tuple(spelt(word.encode(errors="surrogateescape")))
        while len(tokens) > 1:
            best = min(zip(tokens, tokens[1:]), key=lambda pair: self._ranks.get(pair, len(self._ranks)))
            if best not in self._ranks:
                break
            tokens = joined(tokens, *best)
        return [self.ids[token] for token in tokens]

    def encode(self, text):
        out = []
        for word in WORDS.findall(text):
            if word not in self._known:
                self._known[word] = self._of_word(word)
            out += self._known[word]
        return out

    def encode_bytes(self, data):
        """Any bytes. One that is no part of well-formed UTF-8 counts as a sign, as a lone surrogate does."""
        return self.encode(data.decode(errors="surrogateescape"))

    def decode(self, ids):
        """Bytes."""
        return b"".join(
            self._tokens[i].encode() if i == self.end else bytes(BYTES[c] for c in self._tokens[i]) for i in ids)
