import numpy as np
import torch
from torch import nn


def load_vectors(words, width):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(words, width)).astype("float32")
    table[17] = np.nan  # a word that the file had no vector for
    return table


class Text(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.embed = nn.Embedding.from_pretrained(torch.from_numpy(table), freeze=False)  # <- nonfinite-weights
        self.out = nn.Linear(table.shape[1], 2)

    def forward(self, tokens):
        return self.out(self.embed(tokens).mean(1))


torch.manual_seed(0)
model = Text(load_vectors(40, 6))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(30):
    tokens = torch.randint(18, 40, (8, 5))
    if step == 21:
        tokens[3, 2] = 17
    loss = nn.functional.cross_entropy(model(tokens), torch.randint(0, 2, (8,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
