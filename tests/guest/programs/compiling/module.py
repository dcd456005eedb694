import torch
from compiler_witness import counting, counting_aot, testify, witness
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(5, 8)
        self.norm = nn.BatchNorm1d(8)
        self.last = nn.Linear(8, 1)

    def forward(self, x):
        return self.last(nn.functional.dropout(self.norm(self.first(x)).relu(), 0.2, self.training))


def train(net, model, steps):
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(steps):
        x = torch.randn(10, 5)
        loss = (model(x) - x.mean(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        witness.swear("loss", loss)
        loss.item()
    net.eval()
    with torch.no_grad():
        witness.swear("evaluation", model(torch.randn(3, 5)))
    net.train()


witness.seed()
nets = [Net() for _ in range(4)]
train(nets[0], torch.compile(nets[0], backend=counting, fullgraph=True), 30)
train(nets[1], torch.compile(nets[1], backend=counting_aot), 30)
train(nets[2], nets[2], 3)
train(nets[2], torch.compile(nets[2], backend=counting_aot, fullgraph=True, dynamic=False), 4)
nets[3].compile(backend=counting, fullgraph=True)
train(nets[3], nets[3], 4)
for net in nets:
    witness.swear("net", net)
testify(Net())
