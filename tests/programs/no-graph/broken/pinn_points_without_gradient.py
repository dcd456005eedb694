"""PINN for Burgers; the collocation points do not require gradients."""
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 20), nn.Linear(20, 20), nn.Linear(20, 1)])

    def forward(self, x, t):
        h = torch.cat([x, t], dim=1)
        for layer in self.layers[:-1]:
            h = torch.tanh(layer(h))
        return self.layers[-1](h)


class BurgersSolver:
    def __init__(self, nu=0.01):
        self.nu, self.net = nu, Net()
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-3)

    def residual(self, x, t):
        u = self.net(x, t)
        u_t = torch.autograd.grad(u.sum(), t, create_graph=True)[0]  # <- no-graph
        u_x = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
        u_xx = torch.autograd.grad(u_x.sum(), x, create_graph=True)[0]
        return u_t + u * u_x - self.nu * u_xx

    def train(self, n):
        for i in range(n):
            x = torch.rand(100, 1) * 2 - 1
            t = torch.rand(100, 1)
            x0 = torch.rand(50, 1) * 2 - 1
            u0 = -torch.sin(torch.pi * x0)
            data = (self.net(x0, torch.zeros_like(x0)) - u0).pow(2).mean()
            physics = self.residual(x, t).pow(2).mean()
            loss = data + physics
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()


torch.manual_seed(0)
BurgersSolver().train(40)
