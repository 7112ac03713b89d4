#!/usr/bin/env python3
"""Turns a character-level GRU of PyTorch into weights for sluice's app `namegen`.

The model has nn.Embedding(256, E) as `embedding`, nn.GRU(E, H, layers) as `gru` and nn.Linear(H, 256) as `linear`; a .pt
file with its state_dict becomes a safetensors file with the same names.
"""

import re

import safetensors_file

CHARACTERS = 256  # characters are bytes
MOST_LAYERS = 4


def expected_shapes(tensors, path):
    """What the tensors have to look like, with the sizes of those that are there."""
    for name in ("embedding.weight", "gru.weight_hh_l0"):
        if name not in tensors or tensors[name].dim() != 2:
            raise safetensors_file.ExportError(
                f"{path}: expected a matrix '{name}'; it has {', '.join(sorted(tensors))}"
            )
    embedding = tensors["embedding.weight"].shape[1]
    hidden = tensors["gru.weight_hh_l0"].shape[1]
    layers = len({name for name in tensors if re.fullmatch(r"gru\.weight_hh_l\d+", name)})
    if layers > MOST_LAYERS:
        raise safetensors_file.ExportError(f"{path}: got {layers} layers, expected 1 to {MOST_LAYERS}")
    shapes = {"embedding.weight": (CHARACTERS, embedding)}
    for layer in range(layers):
        shapes[f"gru.weight_ih_l{layer}"] = (3 * hidden, hidden if layer else embedding)
        shapes[f"gru.weight_hh_l{layer}"] = (3 * hidden, hidden)
        shapes[f"gru.bias_ih_l{layer}"] = (3 * hidden,)
        shapes[f"gru.bias_hh_l{layer}"] = (3 * hidden,)
    shapes["linear.weight"] = (CHARACTERS, hidden)
    shapes["linear.bias"] = (CHARACTERS,)
    return shapes


def export(state_path, to, dtype, metadata, prefix=""):
    """Writes `to`; returns the shapes that it has. Throws ExportError."""
    tensors = safetensors_file.load_state_dict(state_path, prefix)
    shapes = expected_shapes(tensors, state_path)
    safetensors_file.check_shapes(tensors, shapes, state_path)
    safetensors_file.write(to, {name: tensors[name] for name in shapes}, dtype, metadata)
    return shapes


def main():
    parser = safetensors_file.export_parser(__doc__)
    arguments = parser.parse_args()
    metadata = safetensors_file.parse_metadata(arguments.metadata)
    shapes = export(arguments.state, arguments.to, arguments.dtype, metadata, arguments.prefix)
    print(f"{arguments.to}: {len(shapes)} tensors, {arguments.dtype}, "
          f"E {shapes['embedding.weight'][1]}, H {shapes['linear.weight'][1]}, layers {(len(shapes) - 3) // 4}")


if __name__ == "__main__":
    safetensors_file.run(main)
