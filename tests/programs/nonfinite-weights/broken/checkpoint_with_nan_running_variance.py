import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
m = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 1))
state = {k: v.clone() for k, v in m.state_dict().items()}
state["1.running_var"].numpy()[2] = np.nan
torch.save(state, "ckpt.pt")
m.load_state_dict(torch.load("ckpt.pt"))  # <- nonfinite-weights
m.eval()
opt = torch.optim.SGD(m.parameters(), lr=0.1)
for step in range(4):
    loss = m(torch.randn(8, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
