import torch

m = torch.nn.Linear(3, 1)
o = torch.optim.SGD(m.parameters(), lr=0.1)


def step(x):
    loss = m(x).pow(2).mean()
    o.zero_grad()
    loss.sum().backward()
    o.step()


with torch.no_grad():  # <- no-graph
    for i in range(3):
        step(torch.randn(5, 3))
