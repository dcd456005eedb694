"""Encoder and decoder in a ModuleDict; predictions are drawn with the dropout on."""
import torch
from torch import nn

torch.manual_seed(0)
parts = nn.ModuleDict({
    "encoder": nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Dropout(0.5)),
    "decoder": nn.Linear(64, 3),
})
opt = torch.optim.Adam(parts.parameters(), lr=5e-3)
W = torch.randn(8, 3)


def predict(x):
    return parts["decoder"](parts["encoder"](x))


for epoch in range(6):
    for _ in range(20):
        x = torch.randn(32, 8)
        loss = nn.functional.cross_entropy(predict(x), (x @ W).argmax(1))
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        x = torch.randn(300, 8)
        print(epoch, (predict(x).argmax(1) == (x @ W).argmax(1)).float().mean().item())  # <- evaluation-in-train-mode
