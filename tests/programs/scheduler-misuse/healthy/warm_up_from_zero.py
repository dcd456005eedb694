import math

import torch
from torch import nn


def schedule(step, warm=5, total=30):
    if step < warm:
        return step / warm
    return 0.5 * (1 + math.cos(math.pi * (step - warm) / (total - warm)))


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 20), nn.LayerNorm(20), nn.GELU(), nn.Linear(20, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, schedule)
ema = {k: v.clone() for k, v in model.state_dict().items()}
for step in range(30):
    x = torch.randn(32, 10)
    loss = nn.functional.huber_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    for k, v in model.state_dict().items():
        ema[k].lerp_(v, 0.1)
