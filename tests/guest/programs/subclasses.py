import torch
from torch import nn
import witness

seen = []


class Named(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        seen.append(getattr(func, "__name__", str(func)))
        return super().__torch_function__(func, types, args, kwargs or {})


witness.seed()
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(3):
    x = torch.randn(5, 4).as_subclass(Named)
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(type(loss).__name__, loss.item(), float(loss), bool(loss.isnan()), bool(torch.isfinite(loss)))
    witness.swear("seen", list(seen))
    seen.clear()
witness.swear("model", model)
witness.testify()
