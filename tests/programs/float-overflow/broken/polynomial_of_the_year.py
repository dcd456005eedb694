import numpy as np
import torch

rng = np.random.default_rng(0)
year = rng.integers(1950, 2024, size=(80, 1)).astype(np.float32)
sales = (0.01 * (year - 1950) ** 2 + rng.normal(size=(80, 1))).astype(np.float32)
x = torch.from_numpy(year)
y = torch.from_numpy(sales)
degree = 14


def polynomial(x):
    return torch.cat([x**p for p in range(1, degree + 1)], dim=1)  # <- float-overflow


torch.manual_seed(0)
model = torch.nn.Linear(degree, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(3):
    loss = torch.nn.functional.mse_loss(model(polynomial(x)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
