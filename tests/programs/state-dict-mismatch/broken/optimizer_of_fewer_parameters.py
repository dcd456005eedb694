import torch
from torch import nn

torch.manual_seed(0)
body, head = nn.Linear(4, 8), nn.Linear(8, 1)
first = torch.optim.Adam(head.parameters(), lr=1e-3)
x = torch.randn(32, 4)
for _ in range(3):
    loss = (head(body(x).relu()) - x[:, :1]).pow(2).mean()
    first.zero_grad()
    loss.backward()
    first.step()
saved = first.state_dict()
second = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=1e-3)
second.load_state_dict(saved)  # <- state-dict-mismatch
