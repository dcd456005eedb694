import torch
from torch import nn

torch.manual_seed(0)
X = torch.linspace(-1, 1, 64).unsqueeze(1)
Y = torch.sin(3 * X)
net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=5)


def closure():
    loss = nn.functional.mse_loss(net(X), Y)
    loss.backward()
    return loss


for epoch in range(30):
    loss = opt.step(closure)  # <- missing-zero-grad
    if epoch % 5 == 0:
        print(epoch, float(loss))
