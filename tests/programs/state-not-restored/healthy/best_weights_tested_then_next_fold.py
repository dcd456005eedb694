import os
import tempfile
import torch
from torch import nn

torch.manual_seed(0)
folder = tempfile.mkdtemp()
x = torch.randn(120, 6)
y = (x.sum(1) > 0).long()
for fold in range(3):
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    path = os.path.join(folder, f"fold{fold}.pt")
    best = float("inf")
    for epoch in range(15):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss.item() < best:
            best = loss.item()
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, path)
    state = torch.load(path)
    model.load_state_dict(state["model"])
    model.eval()
    with torch.no_grad():
        print(fold, state["epoch"], (model(x).argmax(1) == y).float().mean().item())
