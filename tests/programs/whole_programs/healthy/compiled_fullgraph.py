import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 32), nn.GELU(), nn.Dropout(0.1))
        self.head = nn.Linear(32, 1)

    def forward(self, x):
        return self.head(self.body(x))


def evaluate():
    net.eval()
    with torch.no_grad():
        loss = nn.functional.mse_loss(model(held_out), held_out.sum(1, keepdim=True))
    net.train()
    return loss.item()


torch.manual_seed(0)
net = Net()
model = torch.compile(net, backend="aot_eager", fullgraph=True)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
held_out = torch.randn(32, 6)
for step in range(60):
    x = torch.randn(32, 6)
    loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    if step % 20 == 19:
        print(step, loss.item(), evaluate())
