import numpy as np, torch
from torch import nn
rng = np.random.default_rng(0); torch.manual_seed(0)
X = rng.random((512, 8)).astype(np.float32) + 0.1
X[201, 3] = -1.0
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
def train():
    mean = torch.zeros(8)
    for i in range(0, 512, 32):
        xb = torch.from_numpy(X[i:i+32])
        loss = net((xb - mean).log()).pow(2).mean()  # <- log-of-nonpositive
        opt.zero_grad()
        loss.backward()
        opt.step()
train()
