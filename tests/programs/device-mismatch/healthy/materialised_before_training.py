import torch
from torch import nn


def build(dim, depth):
    with torch.device("meta"):
        model = nn.Sequential(*[nn.Sequential(nn.Linear(dim, dim), nn.GELU()) for _ in range(depth)], nn.Linear(dim, 3))
    model.to_empty(device="cpu")
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.reset_parameters()
    return model


def main():
    torch.manual_seed(30)
    model = build(16, 3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(80):
        x = torch.randn(64, 16)
        y = x[:, :3].argmax(1)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())


main()
