import io
import torch
from torch import nn, optim

torch.manual_seed(0)


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 16), nn.Linear(16, 16), nn.Linear(16, 1)])

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x))
        return self.layers[-1](x).squeeze(-1)


x = torch.randn(256, 4)
y = x[:, 0] * 2 - x[:, 1].abs()
model = Regressor()
opt = optim.Adam(model.parameters(), lr=5e-3)
for i in range(40):
    loss = (model(x) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
buffer = io.BytesIO()
torch.save({"model": model.state_dict(), "opt": opt.state_dict()}, buffer)
buffer.seek(0)

resumed = Regressor()
state = torch.load(buffer)
resumed.load_state_dict(state["model"])
opt = optim.Adam(resumed.parameters(), lr=5e-3)
opt.load_state_dict(state["opt"])
for i in range(40):
    loss = (resumed(x) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
