# test-time adaptation after training: entropy minimised over BatchNorm's affine parameters only, on shifted data
import copy, torch, torch.nn as nn
torch.manual_seed(0); net = nn.Sequential(nn.Linear(8, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 3)); X = torch.randn(400, 8); y = X[:, :3].argmax(1); opt = torch.optim.Adam(net.parameters(), 5e-3)
for e in range(8):
    net.train()
    for k in torch.randperm(400).split(40): opt.zero_grad(); nn.functional.cross_entropy(net(X[k]), y[k]).backward(); opt.step()
net.eval()
with torch.no_grad(): print("clean", (net(X).argmax(1) == y).float().mean().item()); S = X * 1.5 + .8; print("shifted", (net(S).argmax(1) == y).float().mean().item())
net.train(); net.requires_grad_(False)
for m in net.modules():
    if isinstance(m, nn.BatchNorm1d): m.requires_grad_(True); m.track_running_stats = False; m.running_mean = m.running_var = None
params = [p for p in net.parameters() if p.requires_grad]; o2 = torch.optim.SGD(params, .01, momentum=.9); right = 0
for k in torch.arange(400).split(50):
    out = net(S[k]); ent = -(out.softmax(1) * out.log_softmax(1)).sum(1).mean(); ent.backward(); o2.step(); o2.zero_grad(); right += (out.argmax(1) == y[k]).sum().item()
print("adapted", right / 400)
