import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

torch.manual_seed(0)
y = torch.randint(0, 5, (500,))
x = 2 * torch.randn(5, 8)[y] + torch.randn(500, 8)
rows = TensorDataset(x[:400], y[:400])
loader = DataLoader(rows, batch_size=40, shuffle=True)
memory_loader = DataLoader(Subset(rows, range(0, 400, 4)), batch_size=100)
encoder, head = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 8)), nn.Linear(8, 5)
optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=3e-3)
for epoch in range(5):
    for data, label in loader:
        loss = nn.functional.cross_entropy(head(encoder(data)), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        memory = [(encoder(data), label) for data, label in memory_loader]
        codes, labels = (torch.cat(part) for part in zip(*memory))
        near = torch.cdist(encoder(x[400:]), codes).topk(5, largest=False).indices
        print(epoch, (labels[near].mode(1).values == y[400:]).float().mean().item())
