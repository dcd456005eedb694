# CosineAnnealingLR used as a wave per epoch (snapshot ensembles do so)
import torch, torch.nn as nn
torch.manual_seed(0); net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3)); opt = torch.optim.SGD(net.parameters(), .2, momentum=.9); X = torch.randn(320, 6); y = X[:, :3].argmax(1); snapshots = []
for cycle in range(5):
    for g in opt.param_groups: g["lr"] = .2
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=30)
    for _ in range(30): k = torch.randint(0, 320, (32,)); l = nn.functional.cross_entropy(net(X[k]), y[k]); opt.zero_grad(); l.backward(); opt.step(); sched.step()
    snapshots.append({n: v.clone() for n, v in net.state_dict().items()}); print(cycle, round(l.item(), 4))
probs = 0
for s in snapshots: net.load_state_dict(s); probs = probs + net(X).detach().softmax(1)
print((probs.argmax(1) == y).float().mean().item())
