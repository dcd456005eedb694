import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(5, 5), torch.nn.ReLU(), torch.nn.Linear(5, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)


def normalise(grad):
    return grad / grad.abs().max()  # <- division-by-zero


for step in range(25):
    x = torch.randn(4, 5)
    hidden = net[1](net[0](x))
    hidden.register_hook(normalise)
    out = net[2](hidden)
    loss = (out.mean() * (0.0 if step == 14 else 1.0)) ** 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
