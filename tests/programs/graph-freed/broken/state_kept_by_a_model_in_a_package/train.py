import torch
from pkg.model import Net


def main():
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for i in range(3):
        loss = net(torch.randn(4, 3)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


if __name__ == "__main__":
    main()
