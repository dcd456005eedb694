import torch, torch.nn as nn
torch.manual_seed(0)
X = torch.randn(200, 3); y = X @ torch.tensor([[1.], [-2.], [.5]]) + .3 * torch.randn(200, 1)
m = nn.Linear(3, 1); opt = torch.optim.SGD(m.parameters(), lr=.1)
s = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=.1, patience=3, min_lr=1e-7)
for e in range(80):
    tot = 0.
    for i in torch.randperm(200).split(50):
        l = nn.functional.mse_loss(m(X[i]), y[i]); opt.zero_grad(); l.backward(); opt.step(); tot += l.item() * len(i)
    s.step(tot / 200)
print(opt.param_groups[0]["lr"], tot / 200)
