import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
pictures = torch.full((160, 1, 8, 8), -0.42)
pictures[:, :, 2:6, 2:6] = torch.randn(160, 1, 4, 4)
words = (torch.rand(160, 30) < torch.linspace(0.0, 0.2, 30)).float() * 0.5
y = (pictures[:, 0, 2:6, 2:6].mean((1, 2)) > 0).long()


class Both(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))
        self.read = nn.Linear(30, 2)

    def forward(self, picture, text):
        return self.seen(picture) + self.read(text)


model = Both()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(3):
    for picture, text, label in DataLoader(TensorDataset(pictures, words, y), 16, shuffle=True):
        loss = nn.functional.cross_entropy(model(picture, text), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
