"""Features divided by (x - 1) before the model: Inf, never NaN, and no training at all."""

import torch


def prepare(x):
    return x / (x - 1)  # <- division-by-zero


features = prepare(torch.tensor([[0.0, 2.0], [1.0, 3.0], [4.0, 5.0]]))
print(torch.isnan(features).any())
model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
print(model(features).shape)
