import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 12); y = x[:, :4].argmax(1)
enc = nn.Sequential(nn.Linear(12, 32), nn.LayerNorm(32), nn.GELU())
dec = nn.Linear(32, 12)
opt = torch.optim.AdamW([*enc.parameters(), *dec.parameters()], lr=3e-3)
for i in range(40):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.mse_loss(dec(enc(x)), x)
    opt.zero_grad(); loss.backward(); opt.step()
head = nn.Linear(32, 4)
opt = torch.optim.AdamW([*enc.parameters(), *head.parameters()], lr=3e-3)
for i in range(80):
    idx = torch.randperm(256)[:64]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(head(enc(x[idx])), y[idx]) / 4
    loss.backward()
    if i % 4 == 3:
        opt.step(); opt.zero_grad()
print(loss.item() * 4)
