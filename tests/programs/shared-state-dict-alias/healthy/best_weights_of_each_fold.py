import copy
import torch
from torch import nn
torch.manual_seed(0)
X = torch.randn(120, 6); Y = X[:, :3].argmax(1)
scores = []
for fold in range(4):
    held = torch.zeros(120, dtype=torch.bool); held[fold * 30:(fold + 1) * 30] = True
    model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=2)
    best, best_state = 1e9, None
    for epoch in range(8):
        model.train()
        for idx in torch.randperm(90).split(30):
            x, y = X[~held][idx], Y[~held][idx]
            optimizer.zero_grad(set_to_none=False)
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            val = nn.functional.cross_entropy(model(X[held]), Y[held]).item()
        scheduler.step(val)
        if val < best:
            best, best_state = val, copy.deepcopy(model.state_dict())
    model.load_state_dict(best_state)
    model.eval()
    with torch.no_grad():
        scores.append((model(X[held]).argmax(1) == Y[held]).float().mean().item())
print(scores)
