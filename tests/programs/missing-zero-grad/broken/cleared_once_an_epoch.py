import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.randn(600, 10); y = (x @ torch.randn(10, 3)).argmax(1)
dl = DataLoader(TensorDataset(x, y), 20, shuffle=True)
model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 3))
crit, opt = nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(5):
    opt.zero_grad()
    total = 0.0
    for xb, yb in dl:
        out = model(xb)
        loss = crit(out, yb)
        loss.backward()
        opt.step()  # <- missing-zero-grad
        total += loss.item()
    print(f"Epoch {epoch}: {total / len(dl):.4f}")
