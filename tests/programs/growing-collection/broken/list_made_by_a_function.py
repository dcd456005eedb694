import gc

import torch


def make():
    tensors = []
    for _ in range(300):
        tensors.append(torch.randn(64, 64))
    return tensors


kept = make()  # <- growing-collection
gc.collect()
print("collected")
