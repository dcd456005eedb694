import os
import tempfile
import torch
from torch import nn


class Trainer:
    def __init__(self, path):
        self.model = nn.Sequential(nn.Linear(5, 20), nn.ReLU(), nn.Linear(20, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.02, momentum=0.9)
        self.step = 0
        self.path = path

    def save(self):
        state = {
            "weights": self.model.state_dict(),
            "opt": self.optimizer.state_dict(),
            "step": self.step,
        }
        torch.save(state, self.path)

    def load(self):
        state = torch.load(self.path)  # <- state-not-restored
        self.model.load_state_dict(state["weights"])
        self.step = state["step"]

    def run(self, until):
        while self.step < until:
            x = torch.randn(32, 5)
            loss = nn.functional.mse_loss(self.model(x), x.abs().sum(1, keepdim=True))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.step += 1


torch.manual_seed(0)
path = os.path.join(tempfile.mkdtemp(), "state.pt")
first = Trainer(path)
first.run(30)
first.save()
second = Trainer(path)
second.load()
second.run(60)
