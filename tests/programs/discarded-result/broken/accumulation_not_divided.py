import torch
import torch.nn as nn

torch.manual_seed(0)
ACCUMULATE = 4
x = torch.randn(128, 6)
y = x @ torch.randn(6, 1)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=8)
net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(2):
    for i, (xb, yb) in enumerate(loader):
        loss = nn.functional.mse_loss(net(xb), yb)
        loss / ACCUMULATE  # <- discarded-result
        loss.backward()
        if (i + 1) % ACCUMULATE == 0:
            optimizer.step()
            optimizer.zero_grad()
