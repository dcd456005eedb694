import torch
import torch.nn as nn

torch.manual_seed(0)


def softmax(z):
    e = torch.exp(z)  # <- exp-overflow
    return e / e.sum(dim=1, keepdim=True)


def train():
    X = torch.randn(300, 20) * 40
    W = torch.randn(20, 5)
    Y = (X @ W).argmax(1)
    model = nn.Linear(20, 5)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(10):
        for i in range(0, 300, 50):
            p = softmax(model(X[i:i + 50]))
            loss = -torch.log(p[torch.arange(50), Y[i:i + 50]] + 1e-9).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")


train()
