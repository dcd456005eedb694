import torch
from torch import nn

torch.manual_seed(0)
y = torch.randint(0, 5, (500,))
x = 2 * torch.randn(5, 8)[y] + torch.randn(500, 8)
memory = torch.randperm(400)[:100]
encoder, head = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8)), nn.Linear(8, 5)
opt = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=3e-3)
for epoch in range(12):
    for rows in torch.randperm(400).split(50):
        loss = nn.functional.cross_entropy(head(encoder(x[rows])), y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        codes = encoder(torch.cat([x[memory], x[400:]]))
        near = torch.cdist(codes[100:], codes[:100]).topk(5, largest=False).indices
        print(epoch, (y[memory][near].mode(1).values == y[400:]).float().mean().item())
