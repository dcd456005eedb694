import torch, torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, RandomSampler, SubsetRandomSampler
torch.manual_seed(0)
X = torch.randn(120, 5); y = (X[:, 0] > 0).long(); ds = TensorDataset(X, y)
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2)); opt = torch.optim.Adam(net.parameters(), 1e-2)
tr = DataLoader(ds, 20, shuffle=True); one = DataLoader(ds, batch_size=1); even = DataLoader(ds, batch_size=30); part = DataLoader(ds, 16, sampler=SubsetRandomSampler(range(40))); drop = DataLoader(ds, 32, drop_last=True)
for e in range(4):
    for xb, yb in tr:
        opt.zero_grad(); loss = nn.functional.cross_entropy(net(xb), yb); loss.backward(); opt.step()
    with torch.no_grad():
        correct = sum((net(a).argmax(1) == b).sum().item() for a, b in one); print("one", correct / len(one))
        correct = 0
        for a, b in one: correct += int(net(a).argmax(1).item() == b.item())
        acc1 = correct / len(one)
        right = 0
        for a, b in even: right += (net(a).argmax(1) == b).sum().item()
        acc2 = right / (len(even) * even.batch_size)
        right = 0
        for a, b in part: right += (net(a).argmax(1) == b).sum().item()
        acc3 = right / len(part.sampler)
        accs = 0.; vl = 0.
        for a, b in drop: out = net(a); accs += (out.argmax(1) == b).float().mean().item(); vl += nn.functional.cross_entropy(out, b).item()
        acc4 = accs / len(drop); vl /= len(drop)
        seen = hits = 0
        for i, (a, b) in enumerate(even):
            if i == 2: break
            hits += (net(a).argmax(1) == b).sum().item(); seen += b.numel()
        tot = 0.
        for a, b in even: tot += nn.functional.cross_entropy(net(a), b, reduction="sum").item()
        print(e, acc1, acc2, acc3, round(acc4, 3), round(vl, 3), hits / seen, round(tot / len(ds), 3))
