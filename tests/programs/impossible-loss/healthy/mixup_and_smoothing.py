import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(240, 6)
labels = nn.functional.one_hot(x[:, :4].argmax(1), 4).float()
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 4))
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(60):
    a, b = torch.randint(0, 240, (32,)), torch.randint(0, 240, (32,))
    share = torch.distributions.Beta(0.4, 0.4).sample((32, 1))
    mixed = share * x[a] + (1 - share) * x[b]
    wanted = share * labels[a] + (1 - share) * labels[b]
    loss = criterion(model(mixed), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
