import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16, padding_idx=0)
        layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(16, 2)

    def forward(self, tokens):
        padding = tokens == 0
        h = self.encoder(self.embed(tokens), src_key_padding_mask=padding)
        h = h.masked_fill(padding[..., None], float("-inf")).max(dim=1).values
        return self.out(h)


torch.manual_seed(0)
model = Classifier()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(8):
    model.train()
    tokens = torch.randint(1, 20, (6, 9))
    tokens[torch.arange(9)[None] >= torch.tensor([9, 7, 5, 3, 2, 1])[:, None]] = 0
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(model(tokens), tokens[:, 0] % 2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        model(tokens)
