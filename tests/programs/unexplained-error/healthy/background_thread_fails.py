import threading
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), 0.05)


def upload(value):
    raise ConnectionError("tracker is not reachable")


threading.excepthook = lambda args: print("background:", args.exc_value)
for step in range(10):
    x = torch.randn(16, 3)
    loss = (net(x) - x[:, :1]).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    if step == 5:
        t = threading.Thread(target=upload, args=(loss.item(),))
        t.start(); t.join()
print(loss.item())
