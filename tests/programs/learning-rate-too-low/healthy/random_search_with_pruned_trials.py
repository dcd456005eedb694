import math, random, torch, torch.nn as nn
class TrialPruned(Exception): pass
random.seed(1); X = torch.randn(300, 6, generator=torch.Generator().manual_seed(0)); Y = X[:, :3].argmax(1); study = []
def objective(t):
    lr, h, wd = 10 ** random.uniform(-7, 0), random.choice([4, 16, 64]), 10 ** random.uniform(-6, 0); torch.manual_seed(0); net = nn.Sequential(nn.Linear(6, h), nn.ReLU(), nn.Linear(h, 3)); opt = torch.optim.SGD(net.parameters(), lr=lr, weight_decay=wd, momentum=.9)
    for ep in range(12):
        for b in torch.randperm(300).split(30): l = nn.functional.cross_entropy(net(X[b]), Y[b]); opt.zero_grad(); l.backward(); opt.step()
        v = l.item()
        if ep == 5 and study and v > sorted(s[0] for s in study)[len(study) // 2]: raise TrialPruned(f"trial {t} pruned at {v:.3f}")
    return v, lr, h, wd
for t in range(10):
    try: study.append(objective(t))
    except TrialPruned as e: print(e)
print(min(study))
