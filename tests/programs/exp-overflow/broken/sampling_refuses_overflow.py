"""Token sampling with a softmax by hand; multinomial raises before any loss is computed."""
import torch
from torch import nn


class Chars(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 8)
        self.out = nn.Linear(8, 10)

    def forward(self, token, temperature):
        return self.out(self.embed(token)) / temperature


def probabilities(logits):
    e = torch.exp(logits)  # <- exp-overflow
    return e / e.sum(-1, keepdim=True)


torch.manual_seed(0)
model = Chars()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(30):
    temperature = 1.0 if step < 20 else 0.002
    token = torch.randint(0, 10, (6,))
    reward, total = torch.randn(6), 0.0
    for _ in range(3):
        p = probabilities(model(token, temperature))
        token = torch.multinomial(p, 1).squeeze(1)
        total = total + p.gather(1, token[:, None]).squeeze(1).clamp(min=1e-9).log()
    loss = -(total * reward).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
