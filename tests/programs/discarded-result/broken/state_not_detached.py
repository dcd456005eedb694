import torch
from torch import nn

torch.manual_seed(0)
rnn, head = nn.GRU(3, 8, batch_first=True), nn.Linear(8, 1)
optimizer = torch.optim.Adam([*rnn.parameters(), *head.parameters()], lr=1e-2)
wave = torch.sin(torch.arange(0, 120) / 5.0)
series = torch.stack([wave, wave.roll(2), wave.roll(5)], dim=-1).unsqueeze(0)
for epoch in range(2):
    state = torch.zeros(1, 1, 8)
    loss = 0.0
    for start in range(0, 60, 10):
        out, state = rnn(series[:, start : start + 10], state)
        state.detach()  # <- discarded-result
        loss = loss + (head(out)[..., 0] - series[:, start + 1 : start + 11, 0]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
