import torch
import torch.nn as nn


class Recommender(nn.Module):
    def __init__(self, users, items, dim):
        super().__init__()
        self.users = nn.Embedding(users, dim, sparse=True)  # <- sparse-gradient
        self.items = nn.Embedding(items, dim)

    def forward(self, u, i):
        return (self.users(u) * self.items(i)).sum(-1)


def train():
    torch.manual_seed(0)
    model = Recommender(50, 40, 8)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=1e-2)
    for _ in range(20):
        u, i = torch.randint(0, 50, (32,)), torch.randint(0, 40, (32,))
        rating = (u + i).float() / 90
        loss = nn.functional.mse_loss(model(u, i), rating)
        opt.zero_grad()
        loss.backward()
        opt.step()


train()
