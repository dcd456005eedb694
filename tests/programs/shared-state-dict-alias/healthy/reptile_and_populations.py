import copy, torch, torch.nn as nn
torch.manual_seed(0)
# reptile
net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
for it in range(40):
    a, p = torch.rand(1) * 2 + .5, torch.rand(1) * 3; before = copy.deepcopy(net.state_dict()); o = torch.optim.SGD(net.parameters(), .02)
    for _ in range(5):
        x = torch.rand(20, 1) * 6 - 3; l = nn.functional.mse_loss(net(x), a * torch.sin(x + p)); o.zero_grad(); l.backward(); o.step()
    after = net.state_dict(); net.load_state_dict({k: before[k] + (after[k] - before[k]) * .5 for k in before})
print("reptile", round(l.item(), 3))
# population based training
pop = [{"m": nn.Linear(4, 1), "lr": lr} for lr in (1e-4, 1e-3, 1e-2, 1e-1)]; X = torch.randn(128, 4); y = X.sum(1, keepdim=True)
for m in pop: m["o"] = torch.optim.SGD(m["m"].parameters(), lr=m["lr"])
for gen in range(5):
    for m in pop:
        for _ in range(10):
            m["o"].zero_grad(); l = nn.functional.mse_loss(m["m"](X), y); l.backward(); m["o"].step()
        m["score"] = -l.item()
    pop.sort(key=lambda m: m["score"]); worst, best = pop[0], pop[-1]
    worst["m"].load_state_dict(best["m"].state_dict()); worst["lr"] = best["lr"] * 1.2
    for g in worst["o"].param_groups: g["lr"] = worst["lr"]
print("pbt", round(pop[-1]["score"], 4))
# evolution strategies, no gradient at all
w = torch.zeros(4); 
with torch.no_grad():
    for g in range(60):
        eps = torch.randn(30, 4); f = torch.stack([-((X @ (w + .1 * e) - y.squeeze()) ** 2).mean() for e in eps]); w = w + .1 / (30 * .1) * ((f - f.mean()) / (f.std() + 1e-8)) @ eps
print("es", w.round(decimals=2).tolist())
