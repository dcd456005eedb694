import torch

torch.manual_seed(0)
m = torch.nn.Linear(4, 3)
opt = torch.optim.SGD(m.parameters(), lr=0.1)
for step in range(4):
    z = m(torch.randn(6 if step < 3 else 1, 4))
    c = torch.cov(z.T)  # <- empty-reduction
    loss = (c - torch.eye(3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
