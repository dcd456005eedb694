import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 8))
        self.dec = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 20))

    def forward(self, x):
        return self.dec(self.enc(x))


class Classifier(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder
        self.fc = nn.Linear(8, 3)

    def forward(self, x):
        with torch.no_grad():
            z = self.encoder(x)
        return torch.softmax(self.fc(z), dim=1)  # <- softmax-before-cross-entropy


x = torch.randn(600, 20)
y = x[:, :3].argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)

ae = AutoEncoder()
optimizer = torch.optim.Adam(ae.parameters(), lr=1e-3)
for epoch in range(3):
    for xb, _ in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(ae(xb), xb)
        loss.backward()
        optimizer.step()

clf = Classifier(ae.enc)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(clf.fc.parameters(), lr=0.1)
for epoch in range(4):
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(clf(xb), yb)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
