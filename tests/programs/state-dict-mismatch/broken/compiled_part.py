import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        return self.head(self.body(x))


torch.manual_seed(0)
trained = Net()
trained.body = torch.compile(trained.body, backend="eager")
state = trained.state_dict()

net = Net()
net.load_state_dict(state)  # <- state-dict-mismatch
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
x = torch.randn(32, 4)
for _ in range(10):
    loss = (net(x) - x[:, :1]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
