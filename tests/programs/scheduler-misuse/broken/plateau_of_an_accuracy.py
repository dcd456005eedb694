import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(3)
features = torch.randn(1200, 16)
labels = ((features @ torch.randn(16, 5)) + torch.randn(1200, 5) * 0.05).argmax(-1)
train_set, val_set = random_split(TensorDataset(features, labels), [1000, 200])
train_loader = DataLoader(train_set, 50, shuffle=True)
val_loader = DataLoader(val_set, 100)
net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 5))
opt = optim.Adam(net.parameters(), lr=1e-2)
scheduler = optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.3, patience=1)  # <- scheduler-misuse


def evaluate():
    net.eval()
    good = 0
    with torch.no_grad():
        for xb, yb in val_loader:
            good += (net(xb).argmax(1) == yb).sum().item()
    return good / len(val_set)


for epoch in range(20):
    net.train()
    for xb, yb in train_loader:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(xb), yb)
        loss.backward()
        opt.step()
    accuracy = evaluate()
    scheduler.step(accuracy)
    print(epoch, loss.item(), accuracy, opt.param_groups[0]["lr"])
