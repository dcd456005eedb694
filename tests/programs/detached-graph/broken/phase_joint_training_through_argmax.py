# A tokenizer is trained, then a "joint" phase that is meant to train tokenizer and model end to end.
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 12)
y = x[:, :3].sum(1, keepdim=True)
tokenizer = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 10))
decoder = nn.Linear(10, 12)
opt = torch.optim.Adam([*tokenizer.parameters(), *decoder.parameters()], lr=3e-3)
for _ in range(60):
    p = tokenizer(x).softmax(-1)
    loss = nn.functional.mse_loss(decoder(p), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("tok", loss.item())

table = nn.Embedding(10, 16)
model = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
joint = torch.optim.Adam([*tokenizer.parameters(), *table.parameters(), *model.parameters()], lr=3e-3)
for _ in range(60):
    ids = tokenizer(x).argmax(-1)  # <- detached-graph
    loss = nn.functional.mse_loss(model(table(ids)), y)
    joint.zero_grad()
    loss.backward()
    joint.step()
print("joint", loss.item())
