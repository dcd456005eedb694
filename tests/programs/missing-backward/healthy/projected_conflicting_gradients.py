import random, torch, torch.nn as nn
random.seed(0); torch.manual_seed(0)
body = nn.Sequential(nn.Linear(8, 48), nn.ReLU()); heads = nn.ModuleList([nn.Linear(48, 1) for _ in range(3)]); shared = list(body.parameters()); opt = torch.optim.Adam([*shared, *heads.parameters()], 3e-3)
X = torch.randn(600, 8); Y = torch.stack([X[:, 0], X[:, 1] * X[:, 2], (X ** 2).mean(1)], 1)
for it in range(200):
    b = torch.randint(0, 600, (64,)); h = body(X[b]); losses = [((heads[i](h).squeeze(1) - Y[b, i]) ** 2).mean() for i in range(3)]
    grads = []
    opt.zero_grad()
    for i, l in enumerate(losses):
        g = torch.autograd.grad(l, shared + list(heads[i].parameters()), retain_graph=True); grads.append(torch.cat([x.flatten() for x in g[:len(shared)]]))
        for p, x in zip(heads[i].parameters(), g[len(shared):]): p.grad = x
    pc = [g.clone() for g in grads]
    for gi in pc:
        for gj in random.sample(grads, 3):
            d = gi @ gj
            if d < 0: gi -= d / gj.norm() ** 2 * gj
    flat = torch.stack(pc).sum(0); k = 0
    for p in shared: p.grad = flat[k:k + p.numel()].view_as(p).clone(); k += p.numel()
    opt.step()
    if it % 50 == 0: print(it, [round(l.item(), 4) for l in losses])
print([round(l.item(), 4) for l in losses])
