import torch
from torch import nn


class Angry(list):
    def __len__(self):
        raise SystemExit("len was called")

    def __iter__(self):
        raise SystemExit("iter was called")

    def __getitem__(self, index):
        raise SystemExit("getitem was called")


class Proxy:
    __slots__ = ("inner",)

    @property
    def history(self):
        raise SystemExit("a property was read")

    @property
    def __class__(self):
        raise SystemExit("the class was asked for")


class Lazy:
    def __getattr__(self, name):
        raise SystemExit(f"{name} was asked for")

    def __eq__(self, other):
        raise SystemExit("compared")

    __hash__ = None


class Wrapped(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        raise SystemExit("a torch function was called")


def main():
    torch.manual_seed(0)
    odd = [Lazy(), Proxy()]
    angry, proxy, lazy = Angry(), Proxy(), Lazy()
    wrapped = torch.zeros(3).as_subclass(Wrapped)
    net = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)

    def steps():
        for step in range(40):
            x = torch.randn(16, 8)
            loss = (net(x) - x.mean(dim=1, keepdim=True)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            list.append(angry, 1.0)
            yield loss.item()

    print(sum(steps()), list.__len__(odd), proxy is lazy, type(wrapped))


main()
