import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
ratings = torch.stack([torch.randint(1, 101, (600,)), torch.randint(1, 51, (600,))], 1)
stars = torch.rand(600) * 5
n_users, n_items = ratings[:, 0].max().item(), ratings[:, 1].max().item()

class MF(nn.Module):
    def __init__(self, users, items, k=8):
        super().__init__()
        self.u = nn.Embedding(users, k)
        self.i = nn.Embedding(items, k)
    def forward(self, pair):
        return (self.u(pair[:, 0]) * self.i(pair[:, 1])).sum(1)  # <- index-out-of-range

model = MF(n_users, n_items)
opt = torch.optim.Adam(model.parameters(), 1e-2)
for ep in range(2):
    for pair, y in DataLoader(TensorDataset(ratings, stars), 50, shuffle=True):
        loss = (model(pair) - y).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
