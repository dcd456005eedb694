import copy

import torch
from torch import nn
import witness

witness.seed()
model = nn.Sequential(nn.Linear(4, 8), nn.Hardswish(), nn.Linear(8, 4))
average = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
by_hand = copy.deepcopy(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, foreach=True)
for step in range(12):
    x = torch.randn(6, 4)
    loss = nn.functional.mse_loss(model(x), x) / 4
    loss.backward()
    witness.swear("loss", loss)
    if step % 4 == 3:
        witness.swear("norm", nn.utils.clip_grad_norm_(model.parameters(), 0.2))
        optimizer.step()
        optimizer.zero_grad()
        average.update_parameters(model)
        with torch.no_grad():
            for mine, theirs in zip(by_hand.parameters(), model.parameters()):
                mine.lerp_(theirs, 0.1)
witness.swear("model", model)
witness.swear("average", average)
witness.swear("by hand", by_hand)
witness.swear("optimizer", optimizer)
witness.testify()
