import numpy as np
import torch
import torch.nn as nn

rng = np.random.RandomState(0)
X = rng.randn(400, 10).astype(np.float32)
y = (X[:, 0] + 0.5 * rng.randn(400) > 0).astype(np.int64)
train_idx = rng.choice(400, 300, replace=False)
val_idx = rng.choice(400, 100, replace=False)
Xt, yt = torch.from_numpy(X[train_idx]), torch.from_numpy(y[train_idx])
Xv, yv = torch.from_numpy(X[val_idx]), torch.from_numpy(y[val_idx])
torch.manual_seed(0)
clf = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 2))
opt = torch.optim.Adam(clf.parameters(), lr=5e-3)
for epoch in range(20):
    clf.train()
    for k in range(0, 300, 50):
        loss = nn.functional.cross_entropy(clf(Xt[k : k + 50]), yt[k : k + 50])
        opt.zero_grad()
        loss.backward()
        opt.step()
    clf.eval()
    with torch.no_grad():
        acc = (clf(Xv).argmax(1) == yv).float().mean().item()
    print(epoch, acc)
