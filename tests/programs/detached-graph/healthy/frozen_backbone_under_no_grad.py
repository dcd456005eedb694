import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class FineTuned(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32))
        for parameter in self.backbone.parameters():
            parameter.requires_grad = False
        self.head = nn.Linear(32, 3)

    def forward(self, x):
        with torch.no_grad():
            features = self.backbone(x)
        return self.head(features)


torch.manual_seed(0)
x = torch.randn(256, 16)
loader = DataLoader(TensorDataset(x, x[:, :3].argmax(dim=1)), batch_size=32, shuffle=True)
model = FineTuned()
optimizer = torch.optim.Adam(model.head.parameters(), lr=1e-2)
for epoch in range(3):
    for inputs, labels in loader:
        loss = nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
