"""Writes and reads safetensors files: 8 bytes with the header's length (little endian), a JSON header, the tensors.

The format is that of github.com/huggingface/safetensors. Only torch, NumPy and the standard library are needed.
"""

import argparse
import json
import pathlib
import struct
import sys

try:
    import numpy
    import torch
except ImportError as error:
    sys.exit(f"error: {error.name} is missing; apt-get install python3-torch python3-numpy, or pip install torch numpy")

DTYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
ALIGNMENT = 8  # bytes; the header is padded with spaces, so that the data starts on a multiple


class ExportError(Exception):
    """What the user has to mend; its text is one line."""


def tensor_bytes(name, tensor, dtype):
    """The bytes of `tensor` as `dtype`, rounded to the nearest. Refuses values that are not finite there."""
    rounded = tensor.detach().to(torch.float32).to(DTYPES[dtype]).contiguous()
    bad = int((~torch.isfinite(rounded.to(torch.float32))).sum())
    if bad:
        raise ExportError(f"tensor '{name}': {bad} values are not finite as {dtype}; train again or take --dtype F32")
    if dtype == "BF16":  # NumPy has no such type
        return rounded.view(torch.int16).numpy().astype("<i2").tobytes()
    return rounded.numpy().astype("<f4" if dtype == "F32" else "<f2").tobytes()


def write(path, tensors, dtype, metadata):
    """`tensors`: a dict of name to tensor, written in this order. `metadata`: a dict of strings to strings."""
    header = {"__metadata__": dict(sorted(metadata.items()))} if metadata else {}
    data = []
    begin = 0
    for name, tensor in tensors.items():
        data.append(tensor_bytes(name, tensor, dtype))
        end = begin + len(data[-1])
        header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [begin, end]}
        begin = end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    try:
        pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data))
    except OSError as error:
        raise ExportError(f"{path}: cannot write: {error.strerror}") from error


def read(path):
    """What write() has written: (tensors in fp32, metadata)."""
    try:
        whole = pathlib.Path(path).read_bytes()
    except OSError as error:
        raise ExportError(f"{path}: cannot read: {error.strerror}") from error
    (length,) = struct.unpack("<Q", whole[:8])
    header = json.loads(whole[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        if entry["dtype"] == "BF16":
            values = torch.from_numpy(numpy.frombuffer(whole[begin:end], "<i2").copy()).view(torch.bfloat16)
        else:
            kind = "<f4" if entry["dtype"] == "F32" else "<f2"
            values = torch.from_numpy(numpy.frombuffer(whole[begin:end], kind).copy())
        tensors[name] = values.to(torch.float32).reshape(entry["shape"])
    return tensors, metadata


def load_state_dict(path, prefix=""):
    """The tensors of a .pt file that holds a state_dict; only those whose name starts with `prefix`, which is cut off.

    A pickle can run any code when it is read: only files that you trust.
    """
    try:
        state = torch.load(path, map_location="cpu")
    except OSError as error:
        raise ExportError(f"{path}: cannot read: {error.strerror}") from error
    except Exception as error:
        raise ExportError(f"{path}: torch cannot read it: {error}") from error
    if not isinstance(state, dict) or not all(isinstance(value, torch.Tensor) for value in state.values()):
        raise ExportError(f"{path}: expected a state_dict (names and tensors); save it by torch.save(model.state_dict(), …)")
    chosen = {name[len(prefix) :]: value for name, value in state.items() if name.startswith(prefix)}
    if not chosen:
        raise ExportError(f"{path}: no tensor's name starts with '{prefix}'; it has {', '.join(sorted(state)) or 'none'}")
    return chosen


def parse_metadata(entries):
    """["licence=MIT", …] as a dict."""
    metadata = {}
    for entry in entries:
        key, equals, value = entry.partition("=")
        if not equals or not key:
            raise ExportError(f"--metadata '{entry}': expected KEY=TEXT")
        if key in metadata:
            raise ExportError(f"--metadata '{key}' is given twice")
        metadata[key] = value
    return metadata


def check_shapes(tensors, expected, path):
    """`expected`: a dict of name to shape. Refuses a tensor that is missing, extra, or of another shape."""
    for name, shape in expected.items():
        if name not in tensors:
            raise ExportError(f"{path}: tensor '{name}' is missing; it has {', '.join(sorted(tensors))}")
        if tuple(tensors[name].shape) != tuple(shape):
            raise ExportError(f"{path}: tensor '{name}': got shape {list(tensors[name].shape)}, expected {list(shape)}")
    for name in tensors:
        if name not in expected:
            raise ExportError(f"{path}: tensor '{name}' is not one of this model's; expected {', '.join(expected)}")


def export_parser(description):
    """Of a script that turns a .pt file into a safetensors file."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("state", help="a .pt file with the model's state_dict; reading it can run code: trusted files only")
    parser.add_argument("to", help="the .safetensors file to write")
    parser.add_argument("--dtype", choices=sorted(DTYPES), default="F32", help="default: %(default)s")
    parser.add_argument("--prefix", default="", help="take the tensors whose names start so, such as 'module.', and cut it off")
    parser.add_argument("--metadata", action="append", default=[], metavar="KEY=TEXT",
                        help="a string for the file's __metadata__; may be given again")
    return parser


def run(main):
    """Ends the script with one line of what the user has to mend."""
    try:
        main()
    except (OSError, ExportError) as error:
        sys.exit(f"error: {error}")
