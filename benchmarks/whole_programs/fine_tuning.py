"""An autoencoder, then a classifier on its frozen encoder, then everything at a lower rate, with early stopping."""

import copy

import torch
from laps import lap
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
y = torch.arange(1920) % 6
x = (torch.randn(1920, 1, 16, 16) * 0.4 + torch.sin(y[:, None, None, None] + torch.linspace(0, 6, 16))).clamp(-2, 2)
train = DataLoader(TensorDataset(x[:1536], y[:1536]), batch_size=64, shuffle=True)
held_out = DataLoader(TensorDataset(x[1536:], y[1536:]), batch_size=128)
encoder = nn.Sequential(
    nn.Conv2d(1, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(),
    nn.Conv2d(16, 32, 3, 2, 1), nn.BatchNorm2d(32), nn.ReLU(),
    nn.Flatten(), nn.Linear(512, 64),
)
decoder = nn.Sequential(nn.ReLU(), nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 256), nn.Unflatten(1, (1, 16, 16)))
head = nn.Sequential(nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 6))


def reconstruction(images, _):
    return nn.functional.mse_loss(decoder(encoder(images)), images)


def classification(images, labels):
    return nn.functional.cross_entropy(head(encoder(images)), labels)


def fit(name, parts, loss_of, *, rate, epochs):
    optimizer = torch.optim.AdamW([p for part in parts for p in part.parameters()], lr=rate)
    best, since, kept = float("inf"), 0, None
    for epoch in range(epochs):
        for part in (encoder, decoder, head):
            part.train(part in parts)
        for images, labels in train:
            optimizer.zero_grad()
            loss = loss_of(images, labels)
            loss.backward()
            optimizer.step()
            lap()
        for part in parts:
            part.eval()
        with torch.no_grad():
            score = sum(loss_of(*batch).item() for batch in held_out) / len(held_out)
        print(name, epoch, loss.item(), score)
        since = 0 if score < best else since + 1
        if score < best:
            best, kept = score, [copy.deepcopy(part.state_dict()) for part in parts]
        if since == 3:
            break
    for part, state in zip(parts, kept):
        part.load_state_dict(state)


lap()
fit("autoencoder", [encoder, decoder], reconstruction, rate=1e-3, epochs=40)
for p in encoder.parameters():
    p.requires_grad = False
fit("head", [head], classification, rate=1e-3, epochs=16)
for p in encoder.parameters():
    p.requires_grad = True
fit("all", [encoder, head], classification, rate=1e-4, epochs=24)
