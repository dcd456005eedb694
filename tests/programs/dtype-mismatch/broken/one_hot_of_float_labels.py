import torch
import torch.nn as nn

def one_hot(labels, k):
    out = torch.zeros(labels.size(0), k)
    return out.scatter_(1, labels.unsqueeze(1), 1.0)  # <- dtype-mismatch

class Net(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.a = nn.Linear(20, 40)
        self.b = nn.Linear(40, k)
    def forward(self, x): return self.b(torch.relu(self.a(x))).softmax(-1)

def load():
    import numpy as np
    rng = np.random.default_rng(0)
    x = rng.normal(size=(256, 20)).astype("float32")
    y = (x[:, 0] > 0).astype("float32") + (x[:, 1] > 0).astype("float32")
    return torch.from_numpy(x), torch.from_numpy(y)

X, Y = load()
model = Net(3)
opt = torch.optim.SGD(model.parameters(), lr=.1)
for ep in range(3):
    for i in range(0, 256, 64):
        p = model(X[i:i+64])
        t = one_hot(Y[i:i+64], 3)
        loss = ((p - t) ** 2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
