import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(4, 8, batch_first=True)
        self.out = nn.Linear(8, 1)

    def forward(self, x, h=None):
        y, h = self.gru(x, h)
        return self.out(y[:, -1]), h


torch.manual_seed(0)
model = Model()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
h = None
for step in range(40):
    x = torch.randn(8, 5, 4)
    out, h = model(x, h)  # <- inplace-modification
    loss = (out - x.mean((1, 2)).unsqueeze(1)).pow(2).mean()
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()
