"""The norm is measured after the step, with no limit, only to be logged."""
import torch, torch.nn as nn
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 32), nn.GELU(), nn.Linear(32, 1)); opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
X = torch.randn(300, 6); y = (X ** 2).sum(1, keepdim=True) / 6; history = {"loss": [], "grad_norm": []}
for epoch in range(30):
    for xb, yb in zip(X.split(30), y.split(30)):
        opt.zero_grad(); loss = nn.functional.huber_loss(model(xb), yb); loss.backward(); opt.step()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), float("inf"))
        history["loss"].append(loss.item()); history["grad_norm"].append(norm.item())
print(history["loss"][0], history["loss"][-1], max(history["grad_norm"]))
