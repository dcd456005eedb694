import torch
from torch import nn
import witness

witness.seed()


def train(name, model, optimizer, batch, steps):
    for step in range(steps):
        x, y = batch()
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            witness.swear(f"{name} {step}", loss)
    witness.swear(name, model)
    witness.swear(f"{name} optimizer", optimizer)


def noise():
    return torch.randn(32, 6), torch.randint(3, (32,))


# Labels that nobody can tell: the loss rests, so later steps are looked at and the curvature is measured.
resting = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Tanh(), nn.Dropout(0.3), nn.Linear(16, 3))
train("resting", resting, torch.optim.Adam(resting.parameters(), lr=1e-3), noise, 110)

# A rate that drives the loss up from the first steps on.
growing = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))
train("growing", growing, torch.optim.SGD(growing.parameters(), lr=20.0, momentum=0.9), noise, 40)

# One step kills every unit: no gradient flows.
dying = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3), nn.ReLU())
train("dying", dying, torch.optim.Adam(dying.parameters(), lr=1000.0), noise, 30)

# Hooks of the program count how often they run: our differentiation must not set them off.
hooked = nn.Linear(6, 3)
calls = []
hooked.weight.register_hook(lambda gradient: calls.append(gradient.norm().item()))
train("hooked", hooked, torch.optim.SGD(hooked.parameters(), lr=1e-3), noise, 60)
witness.swear("calls", calls)
witness.testify()
