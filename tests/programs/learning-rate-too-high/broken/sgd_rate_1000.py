"""SGD with a rate of 1000 on a linear model; the program's own isnan test never fires before Inf."""

import torch

torch.manual_seed(1)
x = torch.randn(64, 3)
y = x @ torch.tensor([[1.0], [-2.0], [0.5]]) + 0.1 * torch.randn(64, 1)
net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=1000.0)  # <- learning-rate-too-high
for i in range(100):
    loss = ((net(x) - y) ** 2).mean()
    if torch.isnan(loss):
        print("NaN at", i)
        break
    opt.zero_grad()
    loss.backward()
    opt.step()
print("done", loss.item())
