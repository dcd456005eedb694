# batch-norm statistics are kept fixed from epoch 3 on: train() is only called before
import torch
import torch.nn as nn

torch.manual_seed(0)
FREEZE_BN = 3
w = torch.randn(12, 4)
x = torch.randn(1500, 12)
y = (x @ w).argmax(1)
model = nn.Sequential(nn.Linear(12, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 4))
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def validate():
    model.eval()
    with torch.no_grad():
        out = model(x[1200:])
    return nn.functional.cross_entropy(out, y[1200:]).item()


for epoch in range(6):
    if epoch < FREEZE_BN:
        model.train()
    for i in torch.randperm(1200).split(60):
        loss = nn.functional.cross_entropy(model(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item(), validate())
