"""torch's own encoder with 48 layers, as a classifier of short sequences."""

import torch
from laps import lap
from torch import nn

torch.manual_seed(0)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 48, enable_nested_tensor=False)
        self.head = nn.Linear(32, 4)

    def forward(self, x):
        return self.head(self.encoder(self.embedding(x)).mean(1))


x = torch.randint(0, 50, (256, 16))
y = x[:, 0] % 4
model = Classifier()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
lap()
for step in range(200):
    rows = torch.randint(0, 256, (8,))
    loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    lap()
    if step % 10 == 0:
        print(step, loss.item())
