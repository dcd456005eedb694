import numpy as np
import torch

torch.manual_seed(0)
a = np.array([1.0, 0.0, np.nan, 4.0], dtype="float32")
x = torch.nan_to_num(torch.from_numpy(a))[:, None]
m = torch.nn.Linear(1, 1)
opt = torch.optim.RMSprop(m.parameters(), lr=0.01)
for step in range(4):
    loss = (m(x) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with np.errstate(all="ignore"):
        print(np.float32(1) / np.float32(0))
