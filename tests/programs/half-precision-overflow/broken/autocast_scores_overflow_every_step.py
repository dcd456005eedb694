"""float16 attention scores overflow in every step: the GradScaler skips all of them and nothing is ever learned."""
import torch
from torch import nn
import torch.nn.functional as F


class Head(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        q, k = self.query(x) * 60, self.key(x) * 60
        scores = torch.bmm(q, k.transpose(1, 2))  # <- half-precision-overflow
        return torch.bmm(F.softmax(scores, dim=-1).to(x.dtype), self.value(x).to(x.dtype))


torch.manual_seed(0)
model = Head(32)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for step in range(12):
    x = torch.randn(4, 6, 32) * 4
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = F.mse_loss(model(x).float(), torch.zeros(4, 6, 32))
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    print(step, loss.item(), scaler.get_scale())
