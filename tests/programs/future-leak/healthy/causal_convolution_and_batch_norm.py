import torch
import torch.nn.functional as F
from torch import nn


class Causal(nn.Module):
    def __init__(self, channels, dilation):
        super().__init__()
        self.pad = 2 * dilation
        self.conv = nn.Conv1d(channels, channels, 3, dilation=dilation)
        self.norm = nn.BatchNorm1d(channels)

    def forward(self, x):
        return x + torch.relu(self.norm(self.conv(F.pad(x, (self.pad, 0)))))


torch.manual_seed(0)
model = nn.Sequential(nn.Conv1d(1, 8, 1), Causal(8, 1), Causal(8, 2), nn.Dropout(0.1), nn.Conv1d(8, 1, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
wave = torch.sin(torch.arange(800) * 0.1) + 0.1 * torch.randn(800)
for step in range(12):
    starts = torch.randint(0, 700, (8,)).tolist()
    windows = torch.stack([wave[i : i + 33] for i in starts]).unsqueeze(1)
    loss = F.mse_loss(model(windows[:, :, :-1]), windows[:, :, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
