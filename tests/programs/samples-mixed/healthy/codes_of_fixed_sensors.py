# A fixed graph of sensors: dimension 0 are the 20 sensors of the first of 64 sites, each with a fixed code; 6 readings each.
import torch
from torch import nn
class Sensors(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("codes", torch.randn(64, 1, 8))
        self.inp = nn.Linear(3, 8)
        self.net = nn.Sequential(nn.ReLU(), nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    def forward(self, x):                      # (sensors, readings, features)
        h = self.inp(x) + self.codes[:x.size(0)]
        return self.net(h).squeeze(-1)
torch.manual_seed(0)
model = Sensors()
gain = torch.rand(20, 1)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(100):
    x = torch.randn(20, 6, 3)
    loss = nn.functional.mse_loss(model(x), gain * x.sum(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
