"""Which part of the data a record belongs to: decided by what it holds, so that it is the same wherever the record stands."""


def mix64(x):
    """The finaliser of SplitMix64 (Steele, Lea, Flood 2014)."""
    mask = (1 << 64) - 1
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
    return x ^ (x >> 31)


def part_of(record, seed):
    """'train' (90 %), 'validation' or 'test' (5 % each), from FNV-1a over the record's bytes."""
    state = 0xCBF29CE484222325 ^ seed
    for byte in record:
        state = ((state ^ byte) * 0x100000001B3) & ((1 << 64) - 1)
    share = mix64(state) % 100
    return "train" if share < 90 else "validation" if share < 95 else "test"


def split(records, seed):
    """A dict of the three parts, each in the order of `records`, which are bytes."""
    parts = {"train": [], "validation": [], "test": []}
    for record in records:
        parts[part_of(record, seed)].append(record)
    return parts
