import numpy as np
import torch

torch.manual_seed(0)
m = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(m.parameters(), lr=0.05)
bad = {k: v.clone() for k, v in m.state_dict().items()}
bad["bias"].numpy()[0] = np.inf
torch.save(bad, "best.pt")
for step in range(10):
    if step == 6:
        m.load_state_dict(torch.load("best.pt"))  # <- nonfinite-weights
    loss = (m(torch.randn(4, 3)) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
