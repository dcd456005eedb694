import torch
from torch import nn


class Trainer:
    def __init__(self, net):
        self.net = net
        self.optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
        self.log = []

    def fit(self, steps):
        for step in range(steps):
            x = torch.randn(16, 8)
            prediction = self.net(x)
            loss = (prediction - x.mean(dim=1, keepdim=True)).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.log.append((step, loss, prediction))  # <- retained-graph


torch.manual_seed(0)
trainer = Trainer(nn.Linear(8, 1))
trainer.fit(50)
for step, loss, _ in trainer.log[-3:]:
    print(step, loss.item())
