import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.randn(60, 1, 8, 8); y = (x[:, 0] > 0).long()
ld = DataLoader(TensorDataset(x, y), 16); net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 2, 1)); o = torch.optim.Adam(net.parameters(), 1e-2)
for e in range(6):
    for a, b in ld:
        o.zero_grad(); nn.functional.cross_entropy(net(a), b).backward(); o.step()
    right = total = 0
    with torch.no_grad():
        for a, b in ld:
            p = net(a).argmax(1); right += (p == b).sum().item(); total += b.numel()
        iou = 0.0
        for i, (a, b) in enumerate(ld):
            iou += (net(a).argmax(1) == b).float().mean().item()
            avg = iou / (i + 1)
    print(right / total, right / (len(ld.dataset) * 64), avg)
