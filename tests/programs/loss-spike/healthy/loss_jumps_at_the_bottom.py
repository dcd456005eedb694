import argparse, os, math, copy, tempfile
import torch, torch.nn as nn, torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, random_split

class Blobs(Dataset):
    def __init__(self, n=1200):
        g = torch.Generator().manual_seed(7)
        self.y = torch.randint(0, 4, (n,), generator=g)
        self.x = torch.randn(n, 1, 16, 16, generator=g) * 0.5
        for i, c in enumerate(self.y):
            r, k = divmod(int(c), 2)
            self.x[i, 0, r*8:(r+1)*8, k*8:(k+1)*8] += 1.0
    def __len__(self): return len(self.y)
    def __getitem__(self, i): return self.x[i], self.y[i]

class Net(nn.Module):
    def __init__(self, width=16, p=0.25):
        super().__init__()
        self.c1 = nn.Conv2d(1, width, 3, padding=1); self.b1 = nn.BatchNorm2d(width)
        self.c2 = nn.Conv2d(width, width*2, 3, padding=1)
        self.drop = nn.Dropout(p); self.fc = nn.Linear(width*2*4*4, 4)
    def forward(self, x):
        x = F.max_pool2d(F.relu(self.b1(self.c1(x))), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.fc(self.drop(x.flatten(1)))

def evaluate(model, loader, device):
    model.eval(); n = correct = 0; total = 0.0
    with torch.no_grad():
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            out = model(x); total += F.cross_entropy(out, y, reduction="sum").item()
            correct += (out.argmax(1) == y).sum().item(); n += len(y)
    return total / n, correct / n

def main():
    ap = argparse.ArgumentParser(); ap.add_argument("--epochs", type=int, default=4); ap.add_argument("--lr", type=float, default=3e-3)
    a = ap.parse_args()
    torch.manual_seed(0); device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train, val = random_split(Blobs(), [1000, 200])
    tl = DataLoader(train, batch_size=32, shuffle=True); vl = DataLoader(val, batch_size=64)
    model = Net().to(device); opt = torch.optim.AdamW(model.parameters(), lr=a.lr, weight_decay=1e-2)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=a.epochs)
    best, best_state, patience = math.inf, None, 0
    for epoch in range(a.epochs):
        model.train(); running = 0.0
        for x, y in tl:
            x, y = x.to(device), y.to(device)
            opt.zero_grad(set_to_none=True)
            loss = F.cross_entropy(model(x), y); loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0); opt.step(); running += loss.item() * len(y)
        sched.step(); vloss, acc = evaluate(model, vl, device)
        print(f"epoch {epoch} train {running/len(train):.3f} val {vloss:.3f} acc {acc:.3f}")
        if vloss < best: best, best_state, patience = vloss, copy.deepcopy(model.state_dict()), 0
        else: patience += 1
        if patience > 2: break
    model.load_state_dict(best_state)
    with tempfile.TemporaryDirectory() as d: torch.save({"model": model.state_dict(), "opt": opt.state_dict()}, os.path.join(d, "m.pt"))
main()
