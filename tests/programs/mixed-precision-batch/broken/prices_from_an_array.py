import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
features = torch.randn(128, 4)
price = torch.as_tensor(np.random.default_rng(1).normal(size=128))
scale = nn.Parameter(torch.ones(4))
weight = nn.Parameter(torch.zeros(4))
optimizer = torch.optim.Adam([scale, weight], lr=1e-2)
for step in range(20):
    rows = torch.randint(0, 128, (16,))
    guess = (features[rows] * scale * weight).sum(1)
    loss = (guess - price[rows]).pow(2).mean()  # <- mixed-precision-batch
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
