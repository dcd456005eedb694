import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)


def spectral_loss(pred, target):
    diff = torch.fft.rfft(pred) - torch.fft.rfft(target)
    return (diff**2).mean()


signal = torch.sin(torch.linspace(0, 30, 32 * 64)).view(32, 64)
noisy = signal + 0.1 * torch.randn_like(signal)
for step in range(10):
    optimizer.zero_grad()
    loss = spectral_loss(model(noisy), signal)
    loss.backward()  # <- unexplained-error
    optimizer.step()
