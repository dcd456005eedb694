import torch

w = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for step in range(3):
    loss = (w * w).sum()
    loss.backward()
    optimizer.step()
loss.backward()
