"""Total loss of two terms; the second is an .item() made a tensor again."""
import torch
from torch import nn

torch.manual_seed(0)
enc = nn.Linear(10, 4)
dec = nn.Linear(4, 10)
cls = nn.Linear(4, 3)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters(), *cls.parameters()], lr=1e-2)
w = torch.randn(10, 3)
for i in range(80):
    x = torch.randn(32, 10)
    z = enc(x)
    reconstruction = nn.functional.mse_loss(dec(z), x)
    classification = nn.functional.cross_entropy(cls(z), (x @ w).argmax(1))
    loss = reconstruction + 0.5 * classification.item()  # <- detached-graph
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 0:
        print(reconstruction.item(), classification.item())
