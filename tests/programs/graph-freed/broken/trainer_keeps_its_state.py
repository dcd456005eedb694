import torch

torch.manual_seed(0)


class Trainer:
    def __init__(self):
        self.cell = torch.nn.GRUCell(3, 5)
        self.head = torch.nn.Linear(5, 1)
        self.opt = torch.optim.SGD([*self.cell.parameters(), *self.head.parameters()], lr=0.1)
        self.h = torch.zeros(4, 5)

    def step(self, x):
        self.h = self.cell(x, self.h)  # <- graph-freed
        loss = self.head(self.h).pow(2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()


t = Trainer()
for i in range(3):
    t.step(torch.randn(4, 3))
