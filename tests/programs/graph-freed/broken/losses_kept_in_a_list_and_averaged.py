import torch

torch.manual_seed(0)
m = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))


class Trainer:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), 0.1)
        self.losses = []

    def fit(self, n):
        for i in range(n):
            self.losses.append(self.model(torch.randn(6, 4)).pow(2).mean())  # <- graph-freed
            total = torch.stack(self.losses).mean()
            self.opt.zero_grad()
            total.backward()
            self.opt.step()


Trainer(m).fit(3)
