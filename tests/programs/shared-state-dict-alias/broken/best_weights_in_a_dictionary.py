import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
best = {"loss": float("inf"), "weights": None}
vx = torch.randn(40, 4)
vy = vx.sum(1, keepdim=True)
for epoch in range(30):
    x = torch.randn(16, 4)
    loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        v = (model(vx) - vy).pow(2).mean().item()
    if v < best["loss"]:
        best["loss"] = v
        best["weights"] = model.state_dict()  # <- shared-state-dict-alias
model.load_state_dict(best["weights"])
