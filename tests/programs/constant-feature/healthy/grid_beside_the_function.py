# Operator learning: the data set returns the grid, the same for all, the input function and the solution.
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Functions(Dataset):
    def __init__(self, n=200, points=16):
        self.grid = torch.linspace(0, 1, points)
        self.rates = torch.rand(n, 1) + 0.5
        self.given = torch.sin(3 * self.rates * self.grid)
        self.solutions = self.given.cumsum(1) / points

    def __len__(self):
        return len(self.rates)

    def __getitem__(self, i):
        return self.grid, self.given[i], self.solutions[i]


torch.manual_seed(0)
loader = DataLoader(Functions(), batch_size=20, shuffle=True)
net = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 16))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(6):
    for grid, given, solution in loader:
        loss = nn.functional.mse_loss(net(torch.cat([grid, given], 1)), solution)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
