import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(300, 6)
labels = x[:, :3].argmax(1)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
for step in range(80):
    rows = torch.randint(0, 300, (64,))
    logits = model(x[rows])
    p = logits.softmax(1)
    entropy = -(p * p.clamp(min=1e-8).log()).sum(1).mean()
    loss = F.cross_entropy(logits, labels[rows]) - 0.9 * entropy
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
