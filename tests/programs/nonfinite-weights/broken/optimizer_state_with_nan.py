"""Resuming: the optimizer's first moment in the checkpoint holds NaN."""
import io
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)


def step():
    x = torch.randn(16, 4)
    loss = (model(x) - x[:, :1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()  # <- nonfinite-weights
    return loss.item()


for _ in range(5):
    step()
state = opt.state_dict()
state["state"][0]["exp_avg"][0, 2] = float("nan")  # bit rot
buffer = io.BytesIO()
torch.save(state, buffer)
buffer.seek(0)
opt.load_state_dict(torch.load(buffer))
for k in range(10):
    print(k, step())
