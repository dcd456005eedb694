import torch


def flat(x):
    try:
        return x.view(-1)
    except RuntimeError:
        return x.reshape(-1)


print(flat(torch.arange(6.0).view(2, 3).T).sum().item())
