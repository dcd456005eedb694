import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(50, 100), nn.ReLU(), nn.Linear(100, 50))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
names = {parameter: name for name, parameter in net.named_parameters()}
for step in range(60):
    x = torch.randn(128, 50)
    out = net(x)
    loss = (out - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    names[out.detach()] = f"output {step}"  # <- growing-collection
print(loss.item())
