import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)
CFG = {"tv": 1e-3, "lr": 2e-3, "epochs": 3, "batch": 8}


class TotalVariation(nn.Module):
    def forward(self, img):
        dx = img[..., :-1, 1:] - img[..., :-1, :-1]
        dy = img[..., 1:, :-1] - img[..., :-1, :-1]
        return torch.sqrt(dx.square() + dy.square()).mean()


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 1, 3, padding=1))

    def forward(self, x):
        return (x + self.net(x)).clamp(0, 1)


def phantom(n, size=20):
    clean = torch.zeros(n, 1, size, size)
    for k in range(n):
        x, y = torch.randint(2, size - 8, (2,)).tolist()
        clean[k, 0, y : y + 6, x : x + 6] = 1.0
    return clean, (clean + 0.2 * torch.randn_like(clean))


def run(cfg):
    clean, noisy = phantom(64)
    loader = DataLoader(TensorDataset(noisy, clean), cfg["batch"], shuffle=True, drop_last=True)
    model, tv = Denoiser(), TotalVariation()
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["lr"])
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, cfg["epochs"])
    for epoch in range(cfg["epochs"]):
        for step, (x, y) in enumerate(loader):
            out = model(x)
            loss = F.mse_loss(out, y) + cfg["tv"] * tv(out)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
        print(f"[{epoch}] {loss.item():.5f}")


run(CFG)
