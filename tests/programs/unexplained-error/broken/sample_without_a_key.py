"""Default collate of dicts whose keys differ."""
import torch
from torch.utils.data import DataLoader

samples = [{"x": torch.randn(3), "y": torch.tensor(1.0)} for _ in range(12)]
del samples[7]["y"]
net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for batch in DataLoader(samples, batch_size=4):  # <- unexplained-error
    loss = (net(batch["x"])[:, 0] - batch["y"]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
