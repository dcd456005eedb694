import torch
from torch import nn
import witness

witness.seed()
for backend in ("eager", "aot_eager"):
    model = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.Dropout(0.2), nn.GELU(), nn.Linear(8, 1))
    compiled = torch.compile(model, backend=backend)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(4):
        x = torch.randn(10, 5)
        loss = (compiled(x) - x.mean(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(backend, step, loss.item(), torch.isfinite(loss).item())
        witness.swear("loss", loss)
    witness.swear("model", model)
    witness.swear("optimizer", optimizer)


@torch.compile(backend="aot_eager", fullgraph=True)
def late(x):
    return torch.where(torch.isnan(x), 0.0, x).sum()


witness.swear("late", late(torch.randn(3)))
witness.swear("breaks", torch._dynamo.utils.counters["graph_break"])
witness.testify()
