import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0); w = torch.randn(8); net2 = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)); o2 = torch.optim.Adam(net2.parameters(), 1e-2); rs = []
for i in range(200):
    docs = torch.randn(10, 8); rel = docs @ w; p = F.softmax(net2(docs), dim=0).squeeze(1); a = torch.multinomial(p, 1).item(); r = (rel[a] - rel.mean()).item(); l = -torch.log(p[a]) * r; o2.zero_grad(); l.backward(); o2.step(); rs.append(r)
print(sum(rs[:40]) / 40, sum(rs[-40:]) / 40)
