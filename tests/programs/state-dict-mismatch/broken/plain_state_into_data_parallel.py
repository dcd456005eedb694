import torch
from torch import nn

torch.manual_seed(0)
torch.save(nn.Linear(4, 1).state_dict(), "w.pt")
net = nn.DataParallel(nn.Linear(4, 1))
net.load_state_dict(torch.load("w.pt"))  # <- state-dict-mismatch
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
x = torch.randn(32, 4)
for _ in range(10):
    loss = (net(x) - x[:, :1]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
