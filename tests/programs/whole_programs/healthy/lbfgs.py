import torch
torch.manual_seed(0)
x = torch.randn(100, 4); y = x @ torch.randn(4, 1)
m = torch.nn.Linear(4, 1)
opt = torch.optim.LBFGS(m.parameters(), lr=1)
def closure():
    opt.zero_grad()
    l = ((m(x) - y) ** 2).mean()
    l.backward()
    return l
for _ in range(60):
    opt.step(closure)
