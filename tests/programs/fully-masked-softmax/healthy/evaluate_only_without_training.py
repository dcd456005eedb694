"""Loads weights and evaluates; nothing is trained."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(12, 8, padding_idx=0)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.head = nn.Linear(8, 2)

    def forward(self, tokens):
        h = self.embed(tokens)
        h, _ = self.attention(h, h, h, key_padding_mask=tokens == 0)
        return self.head(h[:, 0])


model = Attention()
torch.save(model.state_dict(), "weights.pt")
model.load_state_dict(torch.load("weights.pt"))
model.eval()
tokens = torch.randint(1, 12, (24, 6))
tokens[:, 4:] = 0
right, total = 0, 0
with torch.no_grad():
    for x, y in DataLoader(TensorDataset(tokens, torch.randint(0, 2, (24,))), batch_size=8):
        out = model(x)
        right += (out.argmax(dim=1) == y).sum().item()
        total += len(y)
print(right / total, model.head.weight)
