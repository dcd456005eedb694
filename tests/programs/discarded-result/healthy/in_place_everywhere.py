import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(2, 8, 3, padding=1)
        self.act = nn.ReLU(inplace=True)
        self.head = nn.Linear(8, 1)

    def forward(self, x, padding):
        h = self.conv(x)
        self.act(h)
        h = h * 1.0
        h.masked_fill_(padding[:, None], 0.0)
        torch.clamp(h.detach(), max=5.0, out=torch.empty_like(h))
        return self.head(h.mean(dim=2))


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(10):
    x = torch.randn(16, 2, 20)
    padding = torch.arange(20)[None] >= torch.randint(5, 21, (16, 1))
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(net(x, padding), x.mean(dim=(1, 2))[:, None])
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    for p in net.parameters():
        p.grad.clamp_(-1, 1)
    optimizer.step()
