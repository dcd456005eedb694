import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(5, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(64, 5), torch.randint(0, 2, (64,))
PATH = "net.pth"
for epoch in range(5):
    opt.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    opt.step()
torch.save(net.state_dict(), PATH)
net2 = nn.Linear(5, 2)
net2.load_state_dict(PATH)  # <- unexplained-error
