import torch, torch.nn as nn
torch.manual_seed(0); net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1)); opt = torch.optim.Adam(net.parameters(), 5e-3); w = torch.randn(8)
for i in range(120):
    docs = torch.randn(12, 8); rel = docs @ w; s = net(docs); p = torch.softmax(s, dim=0); t = torch.softmax(rel.unsqueeze(1), dim=0); loss = -(t * torch.log(p)).sum(); opt.zero_grad(); loss.backward(); opt.step()
    if i % 30 == 0: print(i, round(loss.item(), 4))
