import torch

torch.manual_seed(0)
model = torch.nn.Linear(8, 4).half()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)  # <- optimizer-epsilon
for step in range(10):
    x = torch.randn(16, 8).half()
    x[:, 3] = 0
    loss = (model(x).float() ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
