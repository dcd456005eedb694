import torch
from torch import nn


class Bags(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(6, 16), nn.ReLU())
        self.attention = nn.Linear(16, 3)
        self.head = nn.Linear(48, 1)

    def forward(self, bag):
        hidden = self.features(bag)
        weights = torch.softmax(self.attention(hidden), dim=0)
        return self.head((weights.T @ hidden).flatten())


torch.manual_seed(0)
model = Bags()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(150):
    instances = 1 if step < 3 else int(torch.randint(1, 9, ()))
    bag = torch.randn(instances, 6)
    label = (bag[:, 0].max() > 0.8).float().view(1)
    loss = nn.functional.binary_cross_entropy_with_logits(model(bag), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
