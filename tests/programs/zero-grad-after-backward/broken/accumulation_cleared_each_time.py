"""Gradient accumulation whose zero_grad sits in the micro-batch loop: only the last micro batch counts."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def build_model(width=48):
    return nn.Sequential(nn.Linear(20, width), nn.LayerNorm(width), nn.GELU(), nn.Linear(width, 5))


def make_loader(n=512, bs=8):
    x = torch.randn(n, 20)
    y = x[:, :5].argmax(1)
    return DataLoader(TensorDataset(x, y), batch_size=bs, shuffle=True, drop_last=True)


def train(model, loader, accum=4, epochs=3):
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        running = 0.0
        for i, (x, y) in enumerate(loader):
            optimizer.zero_grad()  # <- zero-grad-after-backward
            loss = criterion(model(x), y) / accum
            loss.backward()
            if (i + 1) % accum == 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
            running += loss.item() * accum
        print(f"epoch {epoch}: {running / len(loader):.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    train(build_model(), make_loader())
