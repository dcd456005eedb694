"""Counts predicted through exp; Adam's rate moves every weight by 15 at each step."""
import numpy as np
import torch

rng = np.random.default_rng(0)
hours = rng.uniform(0, 24, size=(300, 1)).astype("float32")
lights = rng.normal(size=(300, 5)).astype("float32")
features = np.concatenate([hours, lights], axis=1)
counts = rng.poisson(np.exp(0.1 * hours[:, 0])).astype("float32")

torch.manual_seed(0)
model = torch.nn.Linear(6, 1)
opt = torch.optim.Adam(model.parameters(), lr=15.0)  # <- learning-rate-too-high


def batches(size=50):
    order = rng.permutation(len(features))
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        yield torch.from_numpy(features[rows]), torch.from_numpy(counts[rows])


for epoch in range(10):
    for x, n in batches():
        log_rate = model(x).squeeze(1)
        loss = (log_rate.exp() - n * log_rate).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
