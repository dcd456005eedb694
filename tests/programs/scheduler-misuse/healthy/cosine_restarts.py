import torch
torch.manual_seed(1)
w = torch.nn.Linear(20, 1)
opt = torch.optim.SGD(w.parameters(), lr=0.05)
sched = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, 40)
true = torch.randn(20, 1)
for i in range(200):
    x = torch.randn(16, 20)
    loss = (w(x) - x @ true - 0.3 * torch.randn(16, 1)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step(); sched.step()
