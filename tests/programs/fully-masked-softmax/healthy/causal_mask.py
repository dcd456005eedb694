import torch
from torch import nn

torch.manual_seed(0)
mask = torch.full((8, 8), float("-inf")).triu(1)
layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.1)
head = nn.Linear(16, 5)
opt = torch.optim.AdamW([*layer.parameters(), *head.parameters()], lr=1e-3)
for step in range(25):
    x = torch.randn(4, 8, 16)
    loss = nn.functional.cross_entropy(
        head(layer(x, src_mask=mask)).flatten(0, 1), torch.randint(0, 5, (32,))
    )
    opt.zero_grad()
    loss.backward()
    opt.step()
