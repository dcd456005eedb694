"""Uncertainty weighting of two tasks (Kendall et al.), with the log variances kept beside the model."""
import torch
import torch.nn.functional as F
from torch import nn


class SharedTrunk(nn.Module):
    def __init__(self, inputs=10, hidden=40):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(inputs, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.GELU())
        self.regress = nn.Linear(hidden, 1)
        self.classify = nn.Linear(hidden, 3)

    def forward(self, x):
        h = self.trunk(x)
        return self.regress(h).squeeze(-1), self.classify(h)


class MultiTaskTrainer:
    def __init__(self, model, lr=2e-3):
        self.model = model
        self.log_vars = torch.zeros(2, requires_grad=True)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=lr)  # <- parameters-not-in-optimizer
        self.history = []

    def combine(self, losses):
        total = 0
        for log_var, loss in zip(self.log_vars, losses):
            total = total + torch.exp(-log_var) * loss + log_var
        return total

    def step(self, x, value, label):
        self.opt.zero_grad()
        v, logits = self.model(x)
        losses = (F.mse_loss(v, value), F.cross_entropy(logits, label))
        loss = self.combine(losses)
        loss.backward()
        self.opt.step()
        self.history.append([part.item() for part in losses])
        return loss.item()


def sample(n=96):
    x = torch.randn(n, 10)
    value = x[:, 0] + 0.5 * x[:, 1] * x[:, 2]
    label = x[:, 3:6].argmax(1)
    return x, value, label


torch.manual_seed(4)
trainer = MultiTaskTrainer(SharedTrunk())
for it in range(120):
    loss = trainer.step(*sample())
    if it % 30 == 0:
        print(it, round(loss, 4), trainer.log_vars.detach().exp().tolist())
print("last", trainer.history[-1])
