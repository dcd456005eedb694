import torch
import torch.nn as nn


class GuardedLoss(nn.Module):
    def forward(self, prediction, target):
        error = (prediction - target).abs()
        if error.max() > 3.0:
            return prediction.sum() * 0 + torch.tensor(float("inf"))  # <- nonfinite-literal
        return error.mean()


torch.manual_seed(0)
model = nn.Linear(6, 1)
criterion = GuardedLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(200):
    x = torch.randn(32, 6)
    loss = criterion(model(x), x.sum(1, keepdim=True) * 0.9)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
