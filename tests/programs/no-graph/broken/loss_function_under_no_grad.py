import torch

torch.manual_seed(0)
m = torch.nn.Linear(4, 1)
o = torch.optim.SGD(m.parameters(), lr=0.1)


@torch.no_grad()  # <- no-graph
def compute_loss(model, x):
    return model(x).pow(2).mean()


class Loop:
    def step(self, x):
        loss = compute_loss(m, x)
        self.update(loss)

    def update(self, loss):
        o.zero_grad()
        loss.backward()
        o.step()


for i in range(3):
    Loop().step(torch.randn(4, 4))
