import numpy as np
import torch

torch.manual_seed(0)
m = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(m.parameters(), lr=0.1)
rng = np.random.default_rng(1)


def make(step):
    a = rng.normal(size=(8, 2)).astype("float32")
    if step == 4:
        a[3] = 0
    return a / np.linalg.norm(a, axis=1, keepdims=True)  # <- nonfinite-data


for step in range(8):
    x = torch.as_tensor(make(step))
    loss = (m(x) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
