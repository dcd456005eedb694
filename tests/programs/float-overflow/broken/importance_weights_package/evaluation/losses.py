import torch


def weighted_return(ratios, rewards):
    weights = torch.cumprod(ratios, dim=1)  # <- float-overflow
    return (weights * rewards).mean()
