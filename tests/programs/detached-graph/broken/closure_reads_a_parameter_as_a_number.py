"""Fitting an oscillator's parameters by LBFGS through an integrator; one parameter is read with float()."""
import torch
from torch import nn


class Oscillator(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_k = nn.Parameter(torch.tensor(0.0))
        self.log_c = nn.Parameter(torch.tensor(-2.0))

    def acceleration(self, x, v):
        k = self.log_k.exp()
        c = float(self.log_c.exp())  # <- detached-graph
        return -k * x - c * v

    def forward(self, x0, v0, steps=60, dt=0.1):
        xs, x, v = [], x0, v0
        for _ in range(steps):
            v = v + dt * self.acceleration(x, v)
            x = x + dt * v
            xs.append(x)
        return torch.stack(xs, 1)


def truth(x0, v0):
    m = Oscillator()
    with torch.no_grad():
        m.log_k.fill_(0.8)
        m.log_c.fill_(-1.0)
        return m(x0, v0)


def main():
    torch.manual_seed(0)
    x0, v0 = torch.randn(16), torch.randn(16)
    target = truth(x0, v0) + 0.01 * torch.randn(16, 60)
    model = Oscillator()
    opt = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4, line_search_fn="strong_wolfe")

    def closure():
        opt.zero_grad()
        loss = (model(x0, v0) - target).square().mean()
        loss.backward()
        return loss

    for it in range(12):
        loss = opt.step(closure)
        if it % 4 == 0:
            print(it, loss.item(), model.log_k.item(), model.log_c.item())


main()
