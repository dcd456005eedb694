import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
optim = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9)
data, label = torch.randn(96, 4), torch.randint(0, 2, (96,))
for epoch in range(6):
    net.train()
    for k in range(0, 96, 24):
        loss = F.cross_entropy(net(data[k : k + 24]), label[k : k + 24])
        optim.zero_grad(set_to_none=True)
        loss.backward()
        optim.step()
    if epoch == 1:
        with torch.no_grad():
            warm = torch.randn(10, 4)
            warm = (warm - warm.mean(0)) / (warm.var(0) * 0)  # <- division-by-zero
            net(warm)
    net.eval()
    with torch.no_grad():
        test_loss = F.cross_entropy(net(data), label)
    print(epoch, float(loss), float(test_loss))
