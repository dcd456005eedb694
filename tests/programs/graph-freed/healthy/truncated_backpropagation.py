import torch
from torch import nn

torch.manual_seed(0)
rnn, head = nn.GRU(2, 8, batch_first=True), nn.Linear(8, 1)
parameters = [*rnn.parameters(), *head.parameters()]
optimizer = torch.optim.RMSprop(parameters, lr=1e-3, centered=True)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=2)
for epoch in range(4):
    state, total = None, 0.0
    series = torch.randn(4, 30, 2).cumsum(1)
    for chunk in series.split(10, dim=1):
        out, state = rnn(chunk, None if state is None else state.detach())
        loss = (head(out).squeeze(-1) - chunk[..., 0]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0, norm_type=float("inf"))
        optimizer.step()
        total += loss.item()
    scheduler.step(total)
