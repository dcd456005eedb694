import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.Adam(model.parameters())
x, y = torch.randn(64, 5), torch.randint(0, 2, (64,))
for epoch in range(10):
    opt.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    opt.step()
torch.save(model.state_dict(), "best_model.pth")

best = torch.load("best_model.pth")
best.eval()  # <- unexplained-error
