import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 2, bias=False)
opt = torch.optim.SGD(net.parameters(), lr=0.01)


def heading_error(velocity, heading):
    predicted = torch.atan2(velocity[:, 1], velocity[:, 0])
    return (1 - torch.cos(predicted - heading)).mean()


def stream():
    step = 0
    while True:
        state = torch.randn(8, 4)
        if step == 6:
            state[1] = 0.0  # standing still
        yield state, torch.rand(8)
        step += 1


source = stream()
for _ in range(10):
    state, heading = next(source)
    loss = heading_error(net(state), heading)
    opt.zero_grad()
    loss.backward()
    opt.step()
