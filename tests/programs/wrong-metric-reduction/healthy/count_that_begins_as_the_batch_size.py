import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(200, 4)
data = TensorDataset(x, (x[:, 0] > 0).long())
size = 48
test = DataLoader(data, batch_size=size)
train = DataLoader(data, batch_size=20, shuffle=True)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def evaluate():
    correct = 0
    total = 0
    with torch.no_grad():
        for a, b in test:
            correct += (model(a).argmax(1) == b).sum().item()
            total = total + len(b)
    return correct / total


for epoch in range(5):
    for a, b in train:
        loss = nn.functional.cross_entropy(model(a), b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    evaluate()
