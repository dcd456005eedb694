import torch

torch.manual_seed(0)
m = torch.nn.Linear(4, 2)
opt = torch.optim.SGD(m.parameters(), lr=0.1)
tp = fp = 0
for step in range(4):
    z = m(torch.randn(4, 4))
    p = z.argmax(1)
    y = torch.zeros(4).long()
    tp = ((p == 1) & (y == 1)).sum()
    pos = (y == 1).sum()
    print("recall", (tp / pos).item(), "std", z[:1].std(0).tolist())
    loss = torch.nn.functional.cross_entropy(z, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
