import copy, random, torch, torch.nn as nn
random.seed(0); torch.manual_seed(0); X = torch.randn(400, 6); Y = (X[:, :1] * X[:, 1:2]); pop = []
for k in range(5): net = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1)); pop.append({"net": net, "opt": torch.optim.Adam(net.parameters(), lr=10 ** random.uniform(-6, -1)), "score": None})
for rnd in range(8):
    for w in pop:
        for _ in range(10): b = torch.randint(0, 400, (64,)); l = nn.functional.mse_loss(w["net"](X[b]), Y[b]); w["opt"].zero_grad(); l.backward(); w["opt"].step()
        with torch.no_grad(): w["score"] = nn.functional.mse_loss(w["net"](X), Y).item()
    pop.sort(key=lambda w: w["score"]); best, worst = pop[0], pop[-1]; worst["net"].load_state_dict(best["net"].state_dict()); worst["opt"].load_state_dict(best["opt"].state_dict())
    for gr in worst["opt"].param_groups: gr["lr"] *= random.choice([.5, 2.])
    print(rnd, [round(w["score"], 4) for w in pop], [f'{w["opt"].param_groups[0]["lr"]:.1e}' for w in pop])
