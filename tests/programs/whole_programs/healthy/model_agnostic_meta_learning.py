import torch, torch.nn.functional as F
from collections import OrderedDict

torch.manual_seed(1)
net = torch.nn.Sequential(OrderedDict([("l1", torch.nn.Linear(1, 40)), ("a1", torch.nn.ReLU()), ("l2", torch.nn.Linear(40, 40)), ("a2", torch.nn.ReLU()), ("l3", torch.nn.Linear(40, 1))]))

def forward(x, p):
    h = F.relu(F.linear(x, p["l1.weight"], p["l1.bias"]))
    h = F.relu(F.linear(h, p["l2.weight"], p["l2.bias"]))
    return F.linear(h, p["l3.weight"], p["l3.bias"])

def task():
    amp, phase = torch.rand(1) * 4.9 + .1, torch.rand(1) * 3.14
    def sample(k=10):
        x = torch.rand(k, 1) * 10 - 5
        return x, amp * torch.sin(x + phase)
    return sample

meta = torch.optim.Adam(net.parameters(), lr=1e-3)
for it in range(80):
    meta_loss = 0.
    for _ in range(4):
        s = task()
        fast = OrderedDict(net.named_parameters())
        for _ in range(2):
            x, y = s()
            inner = F.mse_loss(forward(x, fast), y)
            grads = torch.autograd.grad(inner, fast.values(), create_graph=True)
            fast = OrderedDict((n, p - .01 * g) for (n, p), g in zip(fast.items(), grads))
        x, y = s()
        meta_loss = meta_loss + F.mse_loss(forward(x, fast), y)
    meta_loss = meta_loss / 4
    meta.zero_grad()
    meta_loss.backward()
    meta.step()
    if it % 20 == 0: print(it, f"{meta_loss.item():.3f}")
