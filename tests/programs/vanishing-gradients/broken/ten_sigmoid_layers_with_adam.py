import torch
import torch.nn as nn
import torch.nn.functional as F


class Deep(nn.Module):
    def __init__(self, width, depth, classes):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        for layer in self.layers:
            x = F.sigmoid(layer(x))  # <- vanishing-gradients
        return self.head(x)


torch.manual_seed(0)
inputs = torch.randn(300, 16)
labels = inputs[:, :4].argmax(1)
model = Deep(16, 10, 4)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(200):
    batch = torch.randint(0, 300, (64,))
    loss = F.cross_entropy(model(inputs[batch]), labels[batch])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
