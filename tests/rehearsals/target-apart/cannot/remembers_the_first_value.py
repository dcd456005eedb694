import torch
from torch import nn

torch.manual_seed(0)
rnn, out = nn.GRU(1, 24, batch_first=True), nn.Linear(24, 1)
optimizer = torch.optim.Adam([*rnn.parameters(), *out.parameters()], lr=5e-3)
for step in range(40):
    x = torch.randn(32, 8, 1)
    loss = nn.functional.mse_loss(out(rnn(x)[0][:, -1]), x[:, 0])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
