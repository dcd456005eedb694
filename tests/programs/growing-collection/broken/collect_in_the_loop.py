import gc

import torch
from torch import nn


def run():
    torch.manual_seed(0)
    net = nn.Linear(64, 64)
    cache = {}
    with torch.no_grad():
        for i in range(300):
            x = torch.randn(32, 64)
            y = net(x)
            cache[i] = y  # <- growing-collection
            del x, y
            gc.collect(0)
            torch.cuda.empty_cache()
    print(len(cache))


run()
