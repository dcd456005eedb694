"""Recommender with embeddings and plain SGD on summed squares: no module class, no loader."""
import torch

torch.manual_seed(0)
users, items = torch.nn.Embedding(30, 8), torch.nn.Embedding(40, 8)
params = list(users.parameters()) + list(items.parameters())
lr = 0.2
optimizer = torch.optim.SGD(params, lr=lr)  # <- learning-rate-too-high
u = torch.randint(0, 30, (400,))
i = torch.randint(0, 40, (400,))
stars = torch.randint(1, 6, (400,)).float()
history = []
for epoch in range(25):
    for part in torch.randperm(400).split(100):
        predicted = (users(u[part]) * items(i[part])).sum(1)
        loss = (predicted - stars[part]).pow(2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.item())
print(history[-1])
