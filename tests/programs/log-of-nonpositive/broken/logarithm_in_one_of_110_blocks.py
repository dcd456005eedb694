import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, width, number):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)
        self.number = number

    def forward(self, x):
        hidden = F.gelu(self.up(self.norm(x)))
        if self.number == 57:
            hidden = hidden + hidden.log().clamp(-3)  # <- log-of-nonpositive
        return x + self.down(hidden)


class Deep(nn.Module):
    def __init__(self, width=16, depth=110):
        super().__init__()
        self.given = nn.Linear(8, width)
        self.blocks = nn.ModuleList(Block(width, number) for number in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 4)

    def forward(self, x):
        x = self.given(x)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


data = torch.randn(256, 8)
labels = data[:, :4].argmax(1)
model = Deep()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(2):
    for rows in torch.randperm(256).split(32):
        loss = F.cross_entropy(model(data[rows]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
