"""Validation loop in the same function as training: `phase` is compared with a typo so eval() never happens."""
import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make(n):
    x = torch.randn(n, 14)
    return TensorDataset(x, (x[:, 0] * 2 + x[:, 1] > 0).long())


def train_model(model, loaders, criterion, optimizer, epochs):
    best, best_acc = copy.deepcopy(model.state_dict()), 0.0
    for epoch in range(epochs):
        for phase in ["train", "valid"]:
            if phase == "val":
                model.eval()
            else:
                model.train()
            loss_sum = hits = count = 0
            for x, y in loaders[phase]:
                optimizer.zero_grad()
                with torch.set_grad_enabled(phase == "train"):
                    out = model(x)  # <- evaluation-in-train-mode
                    loss = criterion(out, y)
                    if phase == "train":
                        loss.backward()
                        optimizer.step()
                loss_sum += loss.item() * len(x)
                hits += (out.argmax(1) == y).sum().item()
                count += len(x)
            print(f"{epoch} {phase} loss {loss_sum / count:.4f} acc {hits / count:.3f}")
            if phase == "valid" and hits / count > best_acc:
                best, best_acc = copy.deepcopy(model.state_dict()), hits / count
    model.load_state_dict(best)
    return model


if __name__ == "__main__":
    torch.manual_seed(0)
    loaders = {"train": DataLoader(make(256), 32, shuffle=True), "valid": DataLoader(make(64), 32)}
    net = nn.Sequential(nn.Linear(14, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 2))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    train_model(net, loaders, nn.CrossEntropyLoss(), opt, 5)
