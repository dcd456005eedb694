import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(500, 12)
y = x[:, :2].sum(1, keepdim=True) + 0.3 * torch.randn(500, 1)
train_idx = torch.randperm(500)[:400]
val_idx = torch.randperm(500)[400:]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(12, 64), nn.Linear(64, 1)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(12):
    for rows in train_idx[torch.randperm(400)].split(50):
        loss = nn.functional.mse_loss(net(x[rows]), y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.inference_mode():
        print(epoch, nn.functional.mse_loss(net(x[val_idx]), y[val_idx]).item())
