import numpy as np
import torch

torch.manual_seed(0)
X = np.random.default_rng(0).normal(size=(30, 2)).astype("float32")
X[25, 0] = np.nan
X = torch.tensor(X)  # <- nonfinite-data
w = torch.zeros(2, requires_grad=True)
for i in range(6):
    xb = X[i * 5 : (i + 1) * 5]
    loss = ((xb @ w) - 1).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.grad = None
