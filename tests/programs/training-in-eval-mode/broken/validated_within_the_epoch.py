import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Dropout(0.4), nn.Linear(48, 3))
opt = torch.optim.Adam(net.parameters(), 2e-3)
x = torch.randn(900, 16)
y = (x @ torch.randn(16, 3)).argmax(1)


def validate():
    net.eval()  # <- training-in-eval-mode
    with torch.no_grad():
        return nn.functional.cross_entropy(net(x[700:]), y[700:]).item()


iteration = 0
for epoch in range(4):
    net.train()
    for rows in torch.randperm(700).split(35):
        loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
        iteration += 1
        if iteration % 9 == 0:
            print(iteration, loss.item(), validate())
