"""From the start state, state 3 cannot be reached: logsumexp of nothing but -inf has a NaN gradient."""
import torch
from torch import nn


class CRF(nn.Module):
    def __init__(self, tags=4):
        super().__init__()
        self.emit = nn.Linear(5, tags)
        self.transition = nn.Parameter(torch.randn(tags, tags))
        forbidden = torch.zeros(tags, tags)
        forbidden[0, 3] = -torch.inf
        self.register_buffer("forbidden", forbidden)

    def forward(self, x, tags):
        e = self.emit(x)
        t = self.transition + self.forbidden
        alpha = torch.full((x.shape[0], 4), -torch.inf)
        alpha[:, 0] = 0.0
        for step in range(x.shape[1]):
            alpha = torch.logsumexp(alpha[:, :, None] + t, dim=1) + e[:, step]  # <- infinity-arithmetic
        path = e.gather(2, tags[..., None]).squeeze(2).sum(1) + t[tags[:, :-1], tags[:, 1:]].sum(1)
        return (torch.logsumexp(alpha, 1) - path).mean()


torch.manual_seed(0)
model = CRF()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(6):
    loss = model(torch.randn(3, 5, 5), torch.randint(0, 3, (3, 5)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
