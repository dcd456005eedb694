import torch
from torch import nn
from torch.nn.utils import parametrizations
import witness

witness.seed()
model = nn.Sequential(
    parametrizations.weight_norm(nn.Linear(4, 6)), nn.Tanh(), parametrizations.orthogonal(nn.Linear(6, 6)),
    parametrizations.spectral_norm(nn.Linear(6, 2)),
)
phase = nn.Parameter(torch.randn(3, dtype=torch.complex64))
optimizer = torch.optim.Adam([*model.parameters(), phase], lr=0.01)
for step in range(4):
    x = torch.randn(5, 4)
    signal = torch.fft.fft(model(x)[:, 0], n=3) * phase
    loss = signal.abs().square().mean() + torch.view_as_real(torch.exp(1j * phase)).square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    witness.swear("loss", loss)
    witness.swear("phase", [phase, phase.grad])
witness.swear("model", model)
witness.swear("optimizer", optimizer)
witness.testify()
