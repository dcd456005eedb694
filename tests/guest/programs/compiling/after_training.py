import torch
from compiler_witness import counting, testify, witness
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).tanh()
        return x


def train(model, steps):
    for _ in range(steps):
        loss = model(torch.randn(6, 4)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        witness.swear("loss", loss)


witness.seed()
net = Net()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
train(net, 40)
net.eval()
net(torch.randn(6, 4))
net.train()
compiled = torch.compile(net, backend=counting, fullgraph=True)
train(compiled, 40)
train(net, 3)
net.eval()
with torch.no_grad():
    compiled(torch.randn(6, 4))
    compiled(torch.randn(7, 4))
    compiled(torch.randn(9, 4))
testify(net)
