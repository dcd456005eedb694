import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
text = torch.randint(0, 16, (2000,))
text[1::2] = (text[::2] + 3) % 16


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.place = nn.Embedding(16, 32), nn.Embedding(24, 32)
        layer = nn.TransformerEncoderLayer(32, 2, 64, dropout=0.0, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, 1)
        self.head = nn.Linear(32, 16)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.size(1))
        h = self.token(x) + self.place(torch.arange(x.size(1)))
        return self.head(self.blocks(h, mask=mask, is_causal=True))


def batch():
    starts = torch.randint(0, 1900, (16,)).tolist()
    return torch.stack([text[s : s + 24] for s in starts])


model = GPT()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
for step in range(60):
    x = batch()
    logits = model(x)
    loss = F.cross_entropy(logits.flatten(0, 1), x.flatten())  # <- future-leak
    opt.zero_grad()
    loss.backward()
    opt.step()
