import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(200, 3)
y = x[:, :1] * 2 + 0.1 * torch.randn(200, 1)


class Gauss(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, x):
        mean, raw = self.net(x).chunk(2, 1)
        return torch.distributions.Normal(mean, nn.functional.softplus(raw))


model = Gauss()
optimizer = torch.optim.SGD(model.parameters(), lr=50.0)  # <- learning-rate-too-high
for step in range(60):
    loss = -model(x).log_prob(y).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
