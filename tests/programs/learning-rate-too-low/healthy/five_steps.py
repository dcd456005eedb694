import torch
m = torch.nn.Linear(3, 1)
o = torch.optim.SGD(m.parameters(), lr=1e-6)
for i in range(5):
    l = m(torch.randn(4, 3)).pow(2).mean()
    o.zero_grad(); l.backward(); o.step()
