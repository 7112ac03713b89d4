#!/usr/bin/env python3
"""Compares sluice's tokenizer with the published one: tiktoken, encoding gpt2, of its publisher (npm), and a plain one.

    npm install --prefix FOLDER tiktoken
    tools/compare_tokenizer.py --peer FOLDER --vocabulary vocab.json --merges merges.txt articles.csv more.txt

Texts are the files' lines (of .csv and .jsonl) or paragraphs, random code points, and random bytes, which the peer
gets as Latin-1, because it takes no bytes; as they are they go through the plain encoder of tools/train/byte_pairs.py,
where each byte that is no part of UTF-8 is a sign. Where Python has the same Unicode as PCRE2 (`sluice --version`, of the
program beside), differences that come only from characters that this one lacks are listed apart. Exit code 1: there are
other differences, which are listed; 69: the peer is not installed.
"""

import argparse
import json
import pathlib
import random
import shutil
import statistics
import struct
import subprocess
import sys
import unicodedata

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "train"))
import byte_pairs  # noqa: E402

UNAVAILABLE = 69
SIGN = "\u2020"  # what a character without a class counts as
RANGES = [(0x20, 0x7F), (0x20, 0x7F), (0x09, 0x0E), (0xA0, 0x250), (0x250, 0x2000), (0x2000, 0x2070), (0x2070, 0xD800),
          (0xE000, 0x10000), (0x10000, 0x20000), (0x20000, 0x110000)]
LETTERS = " 'stremvld01, \n\té\u00a0\u2003ß漢9²"


def records_of(path):
    data = pathlib.Path(path).read_bytes()
    if pathlib.Path(path).suffix in (".csv", ".jsonl"):
        return [line for line in data.split(b"\n") if line]
    return [part for part in data.split(b"\n\n") if part]


def random_texts(count, dice):
    texts = []
    for i in range(count):
        length = dice.randrange(1, 60)
        if i % 2 == 0:  # what the pattern tells apart, close together
            text = "".join(dice.choice(LETTERS) for _ in range(length))
        else:
            text = "".join(chr(dice.randrange(*dice.choice(RANGES))) for _ in range(length))
        texts.append(text.encode())
    return texts


def random_bytes(count, dice):
    return [bytes(dice.randrange(256) for _ in range(dice.randrange(1, 60))) for _ in range(count)]


def run(words, records):
    given = b"".join(struct.pack("<I", len(record)) + record for record in records)
    done = subprocess.run(words, input=given, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"error: {words[0]} ended with {done.returncode}")
    values = struct.unpack(f"<{len(done.stdout) // 4}I", done.stdout)
    ids = []
    at = 0
    while at < len(values):
        ids.append(list(values[at + 1 : at + 1 + values[at]]))
        at += 1 + values[at]
    if len(ids) != len(records):
        sys.exit(f"error: {words[0]} gave {len(ids)} records, expected {len(records)}")
    return ids


def unassigned(record):
    """Code points of a text that our Unicode does not know."""
    return sorted({c for c in record.decode(errors="ignore") if unicodedata.category(c) == "Cn"})


def without(record, characters):
    for character in characters:
        record = record.replace(character.encode(), SIGN.encode())
    return record


def compare(name, records, here, there, knows_ours):
    """The number of differences, of which it lists ten. `here` and `there` make ids of records."""
    ours, theirs = here(records), there(records)
    wrong = [i for i in range(len(records)) if ours[i] != theirs[i]]
    newer = [i for i in wrong if knows_ours and unassigned(records[i])]
    if newer:
        plain = [without(records[i], unassigned(records[i])) for i in newer]
        newer = [i for i, a, b in zip(newer, here(plain), there(plain)) if a == b]
        wrong = [i for i in wrong if i not in newer]
    size = sum(map(len, records))
    print(f"{name}: {len(records)} texts, {size} bytes, {sum(map(len, ours))} tokens: "
          f"{f'{len(wrong)} differ' if wrong else 'identical'}"
          f"{f', but for {len(newer)} with characters that our Unicode lacks' if newer else ''}", flush=True)
    for i in wrong[:10]:
        at = next((k for k, (a, b) in enumerate(zip(ours[i], theirs[i])) if a != b), min(len(ours[i]), len(theirs[i])))
        print(f"  {records[i]!r}: token {at}: {ours[i][at : at + 4]} here, {theirs[i][at : at + 4]} there")
    if newer:
        characters = sorted({c for i in newer for c in unassigned(records[i])})
        print("  our Unicode lacks", *(f"U+{ord(c):04X}" for c in characters))
    return len(wrong)


def our_unicode(program):
    """Of PCRE2: "14.0.0"."""
    words = [pathlib.Path(program).with_name("sluice"), "--version", "--json"]
    done = subprocess.run(words, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)["pcre2"].split("Unicode ")[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", help="texts in UTF-8")
    parser.add_argument("--peer", required=True, help="the folder in which npm has installed tiktoken")
    parser.add_argument("--vocabulary", required=True, help="the published vocab.json")
    parser.add_argument("--merges", required=True, help="the published merges.txt")
    parser.add_argument("--program", default=str(HERE.parent / "build/release/bin/bench_tokenizer"), help="default: %(default)s")
    parser.add_argument("--count", type=int, default=10000, help="random texts of each kind; default: %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--speed", action="store_true", help="also measure both on the first file, in turns")
    arguments = parser.parse_args()
    if shutil.which("node") is None or not (pathlib.Path(arguments.peer) / "node_modules/tiktoken").is_dir():
        print(f"error: node or {arguments.peer}/node_modules/tiktoken is missing; apt-get install nodejs, and "
              f"npm install --prefix {arguments.peer} tiktoken", file=sys.stderr)
        return UNAVAILABLE
    files = [arguments.vocabulary, arguments.merges]
    ours = [arguments.program, "ids", *files]
    peer = ["node", str(HERE / "compare_tokenizer_peer.cjs"), arguments.peer]
    dice = random.Random(arguments.seed)
    unicode = our_unicode(arguments.program)
    knows_ours = unicode == unicodedata.unidata_version
    print(f"seed {arguments.seed}; Unicode {unicode}" +
          ("" if knows_ours else f", Python's {unicodedata.unidata_version}: new characters are not told from errors"))

    wrong = 0
    texts = []
    for path in arguments.files:
        texts += records_of(path)
    for name, records in (("texts", texts), ("random code points", random_texts(arguments.count, dice)),
                          ("random bytes as Latin-1", [data.decode("latin-1").encode()
                                                       for data in random_bytes(arguments.count, dice)])):
        wrong += compare(name, records, lambda some: run(ours, some), lambda some: run([*peer, "ids"], some), knows_ours)
    plain = byte_pairs.Encoder(byte_pairs.read_merges(arguments.merges), byte_pairs.read_ids(arguments.vocabulary))
    for name, records in (("random bytes, plain encoder", random_bytes(arguments.count, dice)),
                          ("each fifth text, plain encoder", texts[::5])):
        wrong += compare(name, records, lambda some: run(ours, some), lambda some: [plain.encode_bytes(one) for one in some],
                         knows_ours)
    if arguments.speed:
        here, there = [], []
        for _ in range(5):
            for words, rates in (([arguments.program, "speed", *files], here), ([*peer, "speed"], there)):
                rates.append(float(subprocess.run([*words, arguments.files[0]], stdout=subprocess.PIPE, check=True).stdout))
        print(f"one core, {arguments.files[0]}, medians of 5 in turns: {statistics.median(here):.1f} MB/s here, "
              f"{statistics.median(there):.2f} MB/s there, ratio "
              f"{statistics.median(a / b for a, b in zip(here, there)):.1f}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
