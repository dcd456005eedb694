import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)

from torch.utils.data import DataLoader, TensorDataset
net = nn.Linear(4, 2)
opt = torch.optim.Adam(net.parameters())
for x, y in DataLoader(TensorDataset(torch.randn(12, 4)), batch_size=3):  # <- unexplained-error
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
