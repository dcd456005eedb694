import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

def train_epoch(model, loader, optimizer, criterion):
    model.train()
    total = 0.0
    for inputs, targets in loader:
        outputs = model(inputs)
        loss = criterion(outputs, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()  # <- missing-zero-grad
        total += loss.item()
    return total / len(loader)

torch.manual_seed(0)
x = torch.randn(256, 10); y = (x @ torch.randn(10, 4)).argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(8):
    print(epoch, train_epoch(model, loader, optimizer, nn.CrossEntropyLoss()))
