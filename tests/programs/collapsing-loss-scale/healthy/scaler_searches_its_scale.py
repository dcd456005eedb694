"""float16 with a loss scale that starts far too high, accumulation, unscale and clipping."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=20)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**24)
for step in range(20):
    optimizer.zero_grad(set_to_none=True)
    for micro in range(2):
        x = torch.randn(32, 16)
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), x[:, :4].argmax(1)) / 2
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    scheduler.step()
print(scaler.get_scale(), float(loss))
