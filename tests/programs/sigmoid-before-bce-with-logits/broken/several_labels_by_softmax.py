import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class TagNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, 6))

    def forward(self, x):
        return torch.softmax(self.body(x), dim=1)  # <- sigmoid-before-bce-with-logits


X = torch.randn(400, 10)
Y = (X[:, :6] > 0.3).float()
model = TagNet()
criterion = nn.BCEWithLogitsLoss()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(8):
    for x, y in DataLoader(TensorDataset(X, Y), batch_size=40, shuffle=True):
        opt.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        opt.step()
    print(epoch, loss.item())
