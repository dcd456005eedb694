import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
X = torch.randn(2000, 10); Y = X[:, :3].argmax(1)
train = DataLoader(TensorDataset(X[:1000], Y[:1000]), 50, shuffle=True)
valid = DataLoader(TensorDataset(X[1000:], Y[1000:]), 20)


class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(10, 32); self.b = nn.Linear(32, 10); self.drop = nn.Dropout(0.1)
    def forward(self, x):
        return self.b(self.drop(torch.relu(self.a(x))))


class Classifier(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body, self.head = body, nn.Linear(10, 3)
    def forward(self, x):
        return self.head(self.body(x))


def evaluate(model):
    model.eval()
    right = 0
    with torch.no_grad():
        for x, y in valid:
            right += (model(x).argmax(1) == y).sum().item()
    model.train()
    return right / 1000


body = Body()
opt = torch.optim.Adam(body.parameters(), 2e-3)
for epoch in range(2):
    for x, _ in train:
        opt.zero_grad()
        ((body(x) - x) ** 2).mean().backward()
        opt.step()
model = Classifier(body)
opt = torch.optim.Adam([{"params": model.body.parameters(), "lr": 1e-4}, {"params": model.head.parameters(), "lr": 1e-2}])
sched = torch.optim.lr_scheduler.OneCycleLR(opt, [1e-3, 1e-2], total_steps=60)
print("before", evaluate(model))
for epoch in range(3):
    for x, y in train:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
    print(epoch, evaluate(model))
