import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Expert(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class Mixture(nn.Module):
    """Top-1 routing: a step uses only the experts its tokens are sent to."""

    def __init__(self, width, experts):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.gate = nn.Linear(width, experts)
        self.experts = nn.ModuleList(Expert(width) for _ in range(experts))

    def forward(self, x):
        flat = self.norm(x).reshape(-1, x.shape[-1])
        weight, chosen = self.gate(flat).softmax(-1).max(-1)
        out = torch.zeros_like(flat)
        for number, expert in enumerate(self.experts):
            rows = (chosen == number).nonzero(as_tuple=True)[0]
            if len(rows):
                out = out.index_add(0, rows, weight[rows, None] * expert(flat[rows]))
        return x + out.view_as(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.blocks = nn.Sequential(*(Mixture(16, 16) for _ in range(6)))
        self.head = nn.Linear(16, 2)

    def forward(self, x):
        return self.head(self.blocks(self.embed(x)).mean(1))


tokens = torch.randint(0, 50, (128, 6))
labels = (tokens[:, 0] > 24).long()
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(3):
    for rows in torch.randperm(128).split(16):
        loss = F.cross_entropy(model(tokens[rows]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
