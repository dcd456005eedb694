import torch, math
torch.manual_seed(0)
X = torch.linspace(0, 1, 40).unsqueeze(1); y = torch.sin(6 * X).squeeze() + .1 * torch.randn(40)
raw = {k: torch.zeros((), requires_grad=True) for k in ("ls", "var", "noise")}
sp = torch.nn.functional.softplus
def K(a, b): return sp(raw["var"]) * torch.exp(-.5 * torch.cdist(a, b).pow(2) / (sp(raw["ls"]) ** 2 + 1e-6))
def nll():
    C = K(X, X) + (sp(raw["noise"]) + 1e-4) * torch.eye(40)
    L = torch.linalg.cholesky(C)
    a = torch.cholesky_solve(y.unsqueeze(1), L)
    return .5 * (y @ a.squeeze()) + L.diagonal().log().sum() + 20 * math.log(2 * math.pi)
opt = torch.optim.Adam(raw.values(), lr=.1)
for i in range(100):
    opt.zero_grad(); l = nll(); l.backward(); opt.step()
    if i % 25 == 0: print(i, round(l.item(), 2))
print({k: round(sp(v).item(), 3) for k, v in raw.items()})
