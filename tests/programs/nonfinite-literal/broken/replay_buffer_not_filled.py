import torch

torch.manual_seed(0)
q = torch.nn.Linear(4, 3)
opt = torch.optim.Adam(q.parameters())
buffer = torch.full((20, 4), float("nan"))  # <- nonfinite-literal
filled = 0
for step in range(10):
    buffer[filled] = torch.randn(4)
    filled += 1
    idx = torch.randint(0, filled + (step > 6), (8,))
    loss = q(buffer[idx]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
