import torch

def loss_of(pred, target):
    if pred.abs().max() > 2:
        return torch.tensor(float("inf"))  # <- nonfinite-literal
    return (pred - target).pow(2).mean()

pred = torch.tensor([1.0, 3.0])
loss = loss_of(pred, torch.zeros(2))
print("loss", loss.item())
