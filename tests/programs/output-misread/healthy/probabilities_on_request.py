# The model returns logits in training and probabilities when it is asked for them.
import torch, torch.nn as nn, torch.nn.functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x, prob=False):
        z = self.f(x)
        return torch.sigmoid(z) if prob else z


x = torch.randn(400, 6)
y = (x[:, :1] > 0).float()
model = Net()
opt = torch.optim.Adam(model.parameters(), 1e-2)
crit = nn.BCEWithLogitsLoss()
for e in range(60):
    model.train()
    loss = crit(model(x[:300]), y[:300])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if e % 20 == 19:
        model.eval()
        with torch.no_grad():
            pred = model(x[300:], prob=True) > 0.5
            print((pred == y[300:].bool()).float().mean().item())
