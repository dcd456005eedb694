import torch
import torch.nn.functional as F
from torch import nn


class LM(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.embed = nn.Embedding(11, width, padding_idx=0)
        layer = nn.TransformerEncoderLayer(width, 2, 32, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(width, 11)

    def forward(self, ids):
        causal = torch.ones(ids.shape[1], ids.shape[1]).triu(1).bool()
        return self.head(self.layers(self.embed(ids), mask=causal, src_key_padding_mask=ids == 0))


torch.manual_seed(0)
model = LM()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(8):
    ids = torch.randint(1, 11, (8, 10))
    ids[torch.arange(10)[None] >= torch.randint(3, 11, (8, 1))] = 0
    logits = model(ids[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), ignore_index=0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
