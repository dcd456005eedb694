import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(5, 4)
opt = torch.optim.Adam(net.parameters(), 1e-2)
X = torch.randn(96, 5)
Y = torch.randint(0, 3, (96,))
for epoch in range(6):
    for i in range(0, 64, 16):
        loss = nn.functional.cross_entropy(net(X[i : i + 16]), Y[i : i + 16])
        opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        per_sample = nn.functional.cross_entropy(net(X[64:]), Y[64:], reduction="none")
        per_class_loss = [per_sample[Y[64:] == c].mean().item() for c in range(4)]
    print(epoch, per_class_loss)
