"""GPT-2 in plain PyTorch, written after the paper and its published code, with Hugging Face's names of tensors and files.

What sluice computes is compared with it (tools/compare_transformers.py), and the small model is trained with it.
"""

import dataclasses
import json
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "export"))
import safetensors_file  # first: says what is missing  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402


@dataclasses.dataclass
class Config:
    vocab_size: int = 50257
    n_positions: int = 1024
    n_embd: int = 768
    n_layer: int = 12
    n_head: int = 12
    n_inner: int = 3072
    layer_norm_epsilon: float = 1e-5
    bos_token_id: int = 50256
    eos_token_id: int = 50256

    @staticmethod
    def read(path):
        values = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        known = {field.name for field in dataclasses.fields(Config)}
        config = Config(**{key: value for key, value in values.items() if key in known and value is not None})
        if values.get("n_inner") is None:
            config.n_inner = 4 * config.n_embd
        return config

    def write(self, path):
        values = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "activation_function": "gelu_new",
                  "tie_word_embeddings": True, **dataclasses.asdict(self)}
        pathlib.Path(path).write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


class Product(nn.Module):
    """x W + b, W being (inputs, outputs): Hugging Face's Conv1D."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return x @ self.weight + self.bias


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


class Attention(nn.Module):
    def __init__(self, config, dropout):
        super().__init__()
        self.heads = config.n_head
        self.c_attn = Product(config.n_embd, 3 * config.n_embd)
        self.c_proj = Product(config.n_embd, config.n_embd)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        items, length, width = x.shape
        queries, keys, values = (
            part.reshape(items, length, self.heads, -1).transpose(1, 2) for part in self.c_attn(x).split(width, 2))
        scores = queries @ keys.transpose(2, 3) / math.sqrt(width // self.heads)
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        weights = self.dropout(scores.masked_fill(later, -math.inf).softmax(3))
        return self.c_proj((weights @ values).transpose(1, 2).reshape(items, length, width))


class Inner(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.c_fc = Product(config.n_embd, config.n_inner)
        self.c_proj = Product(config.n_inner, config.n_embd)

    def forward(self, x):
        return self.c_proj(gelu(self.c_fc(x)))


class Block(nn.Module):
    def __init__(self, config, dropout):
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.n_embd, config.layer_norm_epsilon)
        self.attn = Attention(config, dropout)
        self.ln_2 = nn.LayerNorm(config.n_embd, config.layer_norm_epsilon)
        self.mlp = Inner(config)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = x + self.dropout(self.attn(self.ln_1(x)))
        return x + self.dropout(self.mlp(self.ln_2(x)))


class Gpt2(nn.Module):
    def __init__(self, config, dropout=0.0):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.wpe = nn.Embedding(config.n_positions, config.n_embd)
        self.h = nn.ModuleList([Block(config, dropout) for _ in range(config.n_layer)])
        self.ln_f = nn.LayerNorm(config.n_embd, config.layer_norm_epsilon)
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids):
        """Scores (items, length, vocabulary) of what may follow each token."""
        x = self.dropout(self.wte(ids) + self.wpe.weight[: ids.shape[1]])
        for block in self.h:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T

    def start(self, generator):
        """GPT-2's own: deviation 0.02, products that end a residual branch less by the root of their number."""
        for name, value in self.named_parameters():
            if value.dim() == 2:
                share = math.sqrt(2 * self.config.n_layer) if name.endswith("c_proj.weight") else 1
                value.data.copy_(0.02 / share * torch.randn(value.shape, generator=generator))

    def randomise(self, generator):
        """Weights of no meaning, whose scores depend on the whole text: GPT-2's own start only repeats the last token."""
        for name, value in self.named_parameters():
            matrix = value.dim() == 2 and name.startswith("h.")
            deviation = 2 / math.sqrt(value.shape[0]) if matrix else 0.1
            mean = 1.0 if "ln_" in name and name.endswith("weight") else 0.0
            value.data.copy_(mean + deviation * torch.randn(value.shape, generator=generator))

    @staticmethod
    def read(folder):
        """From config.json and model.safetensors, in fp32."""
        folder = pathlib.Path(folder)
        model = Gpt2(Config.read(folder / "config.json"))
        tensors = {name.removeprefix("transformer."): value
                   for name, value in safetensors_file.read(folder / "model.safetensors")[0].items()}
        wanted = model.state_dict()
        model.load_state_dict({name: tensors[name] for name in wanted})
        return model.eval()

    def write(self, folder, dtype, metadata=None):
        folder = pathlib.Path(folder)
        self.config.write(folder / "config.json")
        safetensors_file.write(folder / "model.safetensors", self.state_dict(), dtype,
                               {"format": "pt", **(metadata or {})})
