import random
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
random.seed(0)


class Encoder(nn.Module):
    """LayerDrop: in training each layer is left out with probability 0.5."""

    def __init__(self, width, depth):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 4, 2 * width, batch_first=True) for _ in range(depth)
        )

    def forward(self, x):
        for layer in self.layers:
            if self.training and random.random() < 0.5:
                continue
            x = layer(x)
        return x


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(40, 32)
        self.encoder = Encoder(32, 30)
        self.head = nn.Linear(32, 3)

    def forward(self, x):
        return self.head(self.encoder(self.embed(x)).mean(1))


tokens = torch.randint(0, 40, (96, 8))
labels = tokens[:, 0] % 3
model = Classifier()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(2):
    model.train()
    for rows in torch.randperm(96).split(12):
        loss = F.cross_entropy(model(tokens[rows]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(epoch, loss.item(), (model(tokens).argmax(1) == labels).float().mean().item())
