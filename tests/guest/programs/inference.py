import torch
from torch import nn
from torch.utils.data import DataLoader
import witness

witness.seed()
with torch.inference_mode():
    frozen = nn.Linear(4, 4)
    table = frozen(torch.randn(8, 4)) * 2
    table.add_(1)
    for batch in DataLoader(table, batch_size=4):
        batch.mul_(2)
        witness.swear("batch", batch)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in DataLoader(table, batch_size=4):
    loss = model(batch.clone()).square().mean()
    loss.backward()
    optimizer.step()
    with torch.inference_mode():
        witness.swear("scores", model(batch))
    with torch.no_grad():
        witness.swear("loss", loss)
witness.swear("model", model)
witness.testify()
