"""Two optimizers that take turns; only that of the discriminator has a rate that is too high."""
import torch
import torch.nn as nn


class Generator(nn.Module):
    def __init__(self, z=4, out=2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(z, 32), nn.ReLU(), nn.Linear(32, out))

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self, d=2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x)


class Trainer:
    def __init__(self):
        self.G, self.D = Generator(), Discriminator()
        self.g_opt = torch.optim.Adam(self.G.parameters(), lr=1e-3)
        self.d_opt = torch.optim.SGD(self.D.parameters(), lr=5.0, momentum=0.9)  # <- learning-rate-too-high
        self.mse = nn.MSELoss()

    def d_step(self, real, fake):
        ones, zeros = torch.ones(len(real), 1), torch.zeros(len(fake), 1)
        loss = self.mse(self.D(real), ones) + self.mse(self.D(fake.detach()), zeros)
        self.d_opt.zero_grad()
        loss.backward()
        self.d_opt.step()
        return loss.item()

    def g_step(self, fake):
        loss = self.mse(self.D(fake), torch.ones(len(fake), 1))
        self.g_opt.zero_grad()
        loss.backward()
        self.g_opt.step()
        return loss.item()

    def run(self, steps):
        for i in range(steps):
            real = torch.randn(64, 2) * 0.3 + 2
            fake = self.G(torch.randn(64, 4))
            d = self.d_step(real, fake)
            g = self.g_step(fake)
            if i % 20 == 0:
                print(i, d, g)


torch.manual_seed(0)
Trainer().run(150)
