import copy

import torch

torch.manual_seed(0)
m = torch.nn.Linear(4, 2)
opt = torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)
sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt)
ema = copy.deepcopy(m)
hist = torch.full((100,), float("nan"))
for step in range(6):
    loss = (m(torch.randn(4, 4)) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step(loss)
    hist[step] = loss.detach()
    with torch.no_grad():
        for a, b in zip(ema.parameters(), m.parameters()):
            a.lerp_(b, 0.1)
print(hist.nanmean(), hist.mean())
