import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
opt = torch.optim.AdamW(model.parameters(), 1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127)
best = float("inf")
for epoch in range(6):
    for _ in range(5):
        x, y = torch.randn(16, 8), torch.randint(0, 3, (16,))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
    with torch.no_grad():
        val_loss = nn.functional.cross_entropy(model(torch.randn(16, 8)), torch.randint(0, 3, (16,)))
    best = min(best, val_loss.item())
    print(epoch, val_loss.item(), scaler.get_scale())
