"""A text model: the embedding gives words × channels, the convolution wants channels × words."""

import torch
from torch import nn


class TextNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.conv = nn.Conv1d(16, 8, 3)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        x = self.embed(x)
        x = self.conv(x)  # <- channel-mismatch
        return self.head(x.max(-1).values)


net = TextNet()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    logits = net(torch.randint(0, 50, (4, 12)))
    loss = nn.functional.cross_entropy(logits, torch.randint(0, 2, (4,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
