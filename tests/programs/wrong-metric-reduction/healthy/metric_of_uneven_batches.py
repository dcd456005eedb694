import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.randn(350, 10); y = (x[:, 0] + 0.3 * torch.randn(350) > 0).long()
tr = DataLoader(TensorDataset(x[:250], y[:250]), 32, shuffle=True); va = DataLoader(TensorDataset(x[250:], y[250:]), 32)
m = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2)); o = torch.optim.Adam(m.parameters(), 1e-2); crit = nn.CrossEntropyLoss()
for e in range(4):
    m.train()
    for a, b in tr:
        o.zero_grad(); l = crit(m(a), b); l.backward(); o.step()
    m.eval(); vl = 0.0; correct = 0
    with torch.no_grad():
        for a, b in va:
            out = m(a); vl += crit(out, b).item(); correct += (out.argmax(1) == b).sum().item()
    print(f"val loss {vl / len(va):.3f} acc {100 * correct / len(va.dataset):.1f}%")
