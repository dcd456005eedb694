import torch
import torch.multiprocessing as mp
from torch import nn


def score(values):
    return float(torch.tensor(values).std())


if __name__ == "__main__":
    torch.manual_seed(0)
    net = nn.Linear(3, 1)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    with mp.get_context("fork").Pool(1) as pool:
        for step in range(12):
            x = torch.randn(8, 3)
            loss = (net(x) - x[:, :1]).pow(2).mean()
            opt.zero_grad(); loss.backward(); opt.step()
            if step % 4 == 0:
                print(pool.apply(score, ([loss.item()],)))
