import torch
import torch.nn.functional as F
from torch import nn


class Discrete(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Linear(6, 4), nn.Linear(4, 6)

    def gumbel(self, shape):
        uniform = torch.rand(shape).clamp(1e-10, 1 - 1e-7)
        return -torch.log(-torch.log(uniform))

    def forward(self, x, temperature):
        logits = self.encode(x)
        soft = torch.softmax((logits + self.gumbel(logits.shape)) / temperature, dim=-1)
        hard = F.one_hot(soft.argmax(-1), 4).float()
        return self.decode(hard + soft - soft.detach()) + self.decode(F.gumbel_softmax(logits, tau=temperature))


torch.manual_seed(0)
net = Discrete()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(20):
    x = torch.randn(16, 6)
    loss = F.mse_loss(net(x, max(0.1, 1 - step / 20)), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
