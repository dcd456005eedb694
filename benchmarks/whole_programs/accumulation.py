"""Mixed precision with accumulated gradients, a scheduler, clipping and a checkpoint, as in trainers."""

import tempfile
from pathlib import Path

import torch
from laps import lap
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
EVERY, EPOCHS = 4, 32
x = torch.randn(1024, 3, 12, 12)
y = (x.mean((1, 2, 3)) > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.SiLU(),
    nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.GroupNorm(4, 32), nn.SiLU(),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 2),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=2e-3, total_steps=16 * EPOCHS)
lap()
for epoch in range(EPOCHS):
    total = 0.0
    for count, (images, labels) in enumerate(loader, 1):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = nn.functional.cross_entropy(model(images), labels) / EVERY
        loss.backward()
        total += loss.item() * EVERY
        if count % EVERY == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad(set_to_none=True)
            lap()
    with tempfile.TemporaryDirectory() as folder:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, Path(folder) / "last.pt")
    print(epoch, total / len(loader))
