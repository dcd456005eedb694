import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def focal(logits, labels, gamma=2.0):
    likely = nn.functional.cross_entropy(logits, labels, reduction="none")
    return ((1 - (-likely).exp()) ** gamma * likely).mean()


torch.manual_seed(0)
x = torch.randn(500, 6)
y = (x[:, 0] + x[:, 1] > 2.9).long()
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(2):
    for inputs, labels in DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True):
        loss = focal(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
