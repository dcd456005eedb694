import torch
from compiler_witness import counting, testify, witness
from torch import nn

witness.seed()
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
compiled = torch.compile(net, backend=counting, fullgraph=True)
with torch.no_grad():
    witness.swear("before", compiled(torch.randn(2, 4)))
optimizer = torch.optim.Adam(net.parameters())
for step in range(60):
    x = torch.randn(8, 4)
    loss = (compiled(x) - x.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        net.eval()
        with torch.no_grad():
            witness.swear("evaluation", compiled(x))
        net.train()
    witness.swear("loss", loss.item())
testify(net)
