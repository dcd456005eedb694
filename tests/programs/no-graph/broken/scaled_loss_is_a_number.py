import torch

m = torch.nn.Linear(3, 1)
o = torch.optim.SGD(m.parameters(), lr=0.1)
s = torch.amp.GradScaler("cpu", enabled=True)


def closure(x):
    out = m(x)
    return torch.as_tensor(out.mean().item())  # <- no-graph


for i in range(3):
    loss = closure(torch.randn(4, 3))
    s.scale(loss).backward()
    s.step(o)
    s.update()
