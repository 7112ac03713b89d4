#!/usr/bin/env python3
"""Turns a character CNN of PyTorch into weights for sluice's app `classifier`.

The state_dict of a .pt file holds either the names of docs/classifier.md (w_conv1, b_conv1, gamma_conv1, …), or those of
modules that are called conv1 to conv6 (nn.Conv1d), norm1 and norm6 (nn.LayerNorm([channels, positions])) and fc1 to fc3
(nn.Linear). The number of channels and of hidden units is read from the tensors; there are four classes.
"""

import json

import safetensors_file

SYMBOLS = 70
LENGTH = 1014
POOL = 3
CLASSES = 4
CHANNEL_STEP = 64
MOST_CHANNELS = 1024
MOST_HIDDEN = 8192
NORM_MODULES = {"norm1": "conv1", "norm6": "conv6"}


def sluice_name(name):
    """'conv1.weight' is 'w_conv1' to sluice, 'norm1.bias' is 'beta_conv1'; other names stay as they are."""
    module, _, kind = name.rpartition(".")
    if kind not in ("weight", "bias"):
        return name
    if module in NORM_MODULES:
        return ("gamma_" if kind == "weight" else "beta_") + NORM_MODULES[module]
    return ("w_" if kind == "weight" else "b_") + module


def expected_shapes(tensors, path):
    """What the tensors have to look like, with the sizes of those that are there."""
    for name in ("w_conv1", "w_fc1", "w_fc3"):
        if name not in tensors:
            raise safetensors_file.ExportError(
                f"{path}: tensor '{name}' is missing; it has {', '.join(sorted(tensors))}"
            )
    channels = tensors["w_conv1"].shape[0]
    hidden = tensors["w_fc1"].shape[0]
    if channels == 0 or channels % CHANNEL_STEP != 0 or channels > MOST_CHANNELS:
        raise safetensors_file.ExportError(
            f"{path}: tensor 'w_conv1': got {channels} channels, expected a multiple of {CHANNEL_STEP} up to {MOST_CHANNELS}"
        )
    if not 1 <= hidden <= MOST_HIDDEN:
        raise safetensors_file.ExportError(
            f"{path}: tensor 'w_fc1': got {hidden} hidden units, expected 1 to {MOST_HIDDEN}"
        )
    length = LENGTH
    shapes = {}
    for layer, taps, pool in ((1, 7, POOL), (2, 7, POOL), (3, 3, 1), (4, 3, 1), (5, 3, 1), (6, 3, POOL)):
        positions = length - taps + 1
        shapes[f"w_conv{layer}"] = (channels, SYMBOLS if layer == 1 else channels, taps)
        shapes[f"b_conv{layer}"] = (channels,)
        if layer in (1, 6):
            shapes[f"gamma_conv{layer}"] = (channels, positions)
            shapes[f"beta_conv{layer}"] = (channels, positions)
        length = positions // pool
    shapes["w_fc1"] = (hidden, channels * length)
    shapes["b_fc1"] = (hidden,)
    shapes["w_fc2"] = (hidden, hidden)
    shapes["b_fc2"] = (hidden,)
    shapes["w_fc3"] = (CLASSES, hidden)
    shapes["b_fc3"] = (CLASSES,)
    return shapes


def export(state_path, to, dtype, metadata, prefix="", labels=()):
    """Writes `to`; returns the shapes that it has. Throws ExportError."""
    state = safetensors_file.load_state_dict(state_path, prefix)
    tensors = {sluice_name(name): tensor for name, tensor in state.items()}
    shapes = expected_shapes(tensors, state_path)
    safetensors_file.check_shapes(tensors, shapes, state_path)
    if labels:
        if len(labels) != CLASSES or len(set(labels)) != CLASSES or not all(labels):
            raise safetensors_file.ExportError(f"--labels: got {json.dumps(labels)}, expected {CLASSES} different names")
        metadata = {**metadata, "labels": json.dumps(labels)}
    safetensors_file.write(to, {name: tensors[name] for name in shapes}, dtype, metadata)
    return shapes


def main():
    parser = safetensors_file.export_parser(__doc__)
    parser.add_argument("--labels", default="", help="the classes' names, with commas between them")
    arguments = parser.parse_args()
    metadata = safetensors_file.parse_metadata(arguments.metadata)
    labels = arguments.labels.split(",") if arguments.labels else []
    shapes = export(arguments.state, arguments.to, arguments.dtype, metadata, arguments.prefix, labels)
    print(f"{arguments.to}: {len(shapes)} tensors, {arguments.dtype}, {shapes['b_conv1'][0]} channels, "
          f"{shapes['b_fc1'][0]} hidden units, {CLASSES} classes")


if __name__ == "__main__":
    safetensors_file.run(main)
