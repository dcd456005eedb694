import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = 5 + 3 * torch.randn(256, 8)
loader = DataLoader(TensorDataset(x, x[:, :1] * 0.3), batch_size=64)
net = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))
average = AveragedModel(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
schedule = SWALR(optimizer, swa_lr=0.005)
for epoch in range(10):
    for inputs, targets in loader:
        loss = nn.functional.mse_loss(net(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update_parameters(net)
    schedule.step()
update_bn(loader, average)
average.eval()
with torch.no_grad():
    print(nn.functional.mse_loss(average(x), x[:, :1] * 0.3).item())
