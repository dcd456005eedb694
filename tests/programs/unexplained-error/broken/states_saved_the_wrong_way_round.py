import torch
import torch.nn as nn


def save_checkpoint(epoch, model, optimizer, scheduler):
    state = {
        "epoch": epoch,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
    }
    torch.save(state, "current.pth")


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20)
x, y = torch.randn(80, 6), torch.randint(0, 2, (80,))
for epoch in range(5):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    scheduler.step()
    save_checkpoint(epoch, model, scheduler, optimizer)

ckpt = torch.load("current.pth")
model.load_state_dict(ckpt["model"])
optimizer.load_state_dict(ckpt["optimizer"])  # <- unexplained-error
scheduler.load_state_dict(ckpt["scheduler"])
