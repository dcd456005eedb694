import torch
from torch import nn
import witness


@torch.jit.script
def clean(x: torch.Tensor, limit: float = 2.0) -> torch.Tensor:
    bad = torch.isnan(x) | torch.isinf(x)
    if bool(bad.any().item()) or not bool(torch.isfinite(x).all()):
        x = torch.where(bad, torch.zeros_like(x), x)
    return x.clamp(-limit, limit)


witness.seed()
body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
traced = torch.jit.trace(body, torch.randn(3, 4))
print(traced.graph)
print(traced.code)
scripted = torch.jit.script(nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.2)))
optimizer = torch.optim.Adam([*traced.parameters(), *scripted.parameters()], lr=0.01)
for step in range(3):
    loss = clean(scripted(traced(torch.randn(5, 4)))).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    witness.swear("loss", loss)
print(torch.jit.trace(body, torch.randn(3, 4)).graph)
torch.jit.save(scripted, "scripted.pt")
witness.swear("loaded", torch.jit.load("scripted.pt").state_dict())
print(torch.fx.symbolic_trace(body).code)
witness.swear("model", body)
witness.testify()
