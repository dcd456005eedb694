import torch
from compiler_witness import counting, counting_aot, testify, witness
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        return self.layer(x).tanh()


def step(x, y):
    net.train()
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    return loss


witness.seed()
for backend in (counting, counting_aot):
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=torch.tensor(1e-2))
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
    compiled = torch.compile(step, backend=backend)
    for number in range(4):
        loss = compiled(torch.randn(5, 4), torch.randint(2, (5,)))
        witness.swear("loss", loss)
        loss.item()
    witness.swear("net", net)
    witness.swear("optimizer", optimizer)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
update = torch.compile(optimizer.step, backend=counting)
for number in range(4):
    nn.functional.cross_entropy(net(torch.randn(5, 4)), torch.randint(2, (5,))).backward()
    update()
    net.zero_grad()
witness.swear("net", net)
testify(step)
