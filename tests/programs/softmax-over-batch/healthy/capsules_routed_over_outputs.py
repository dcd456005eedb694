"""Dynamic routing between capsules: a softmax over the outputs, a sum over the inputs, as in the paper."""
import torch
from torch import nn

torch.manual_seed(0)


class Capsules(nn.Module):
    def __init__(self, inputs=12, outputs=3, wide=8):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs, 4, wide) * 0.1)

    def forward(self, u):
        hat = torch.einsum("bic,oicd->boid", u, self.weight)
        logits = torch.zeros(u.shape[0], self.weight.shape[0], u.shape[1])
        for _ in range(3):
            share = torch.softmax(logits, dim=1)
            s = torch.matmul(share.unsqueeze(2), hat).squeeze(2)
            norm = s.norm(dim=-1, keepdim=True)
            v = s * norm / (1 + norm.pow(2))
            logits = logits + torch.matmul(hat, v.unsqueeze(-1)).squeeze(-1)
        return v.norm(dim=-1)


net = Capsules()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
proto = torch.randn(3, 12, 4)
for step in range(80):
    y = torch.randint(0, 3, (32,))
    u = proto[y] + 0.3 * torch.randn(32, 12, 4)
    length = net(u)
    one = nn.functional.one_hot(y, 3).float()
    loss = (one * (0.9 - length).clamp(min=0) ** 2 + 0.5 * (1 - one) * (length - 0.1).clamp(min=0) ** 2).sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, loss.item())
