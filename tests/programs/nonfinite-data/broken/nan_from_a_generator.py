import numpy as np
import torch


def stream():
    rng = np.random.default_rng(0)
    for i in range(12):
        a = rng.normal(size=(4, 3)).astype("float32")
        if i == 7:
            a[2, 1] = np.nan
        yield torch.from_numpy(a)  # <- nonfinite-data


torch.manual_seed(0)
m = torch.nn.Linear(3, 1)
opt = torch.optim.Adam(m.parameters())
for x in stream():
    loss = m(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
