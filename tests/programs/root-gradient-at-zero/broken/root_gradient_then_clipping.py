import torch

torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    left = torch.randn(4, 3)
    right = left if step == 3 else torch.randn(4, 3)
    distance = (model(left) - model(right)).pow(2).sum().sqrt()  # <- root-gradient-at-zero
    optimizer.zero_grad()
    distance.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
