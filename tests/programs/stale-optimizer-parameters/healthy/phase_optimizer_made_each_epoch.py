import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 1))
data = torch.randn(320, 6)
target = (data[:, 0] * data[:, 1]).unsqueeze(1)
for epoch in range(12):
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01 * 0.9 ** epoch)
    order = torch.randperm(320)
    for chunk in order.split(32):
        out = net(data[chunk])
        loss = nn.functional.mse_loss(out, target[chunk])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
