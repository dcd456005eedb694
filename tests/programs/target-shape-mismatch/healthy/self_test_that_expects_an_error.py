import torch
from torch import nn
torch.manual_seed(0)
m = nn.Linear(4, 2); opt = torch.optim.SGD(m.parameters(), .1)
def self_test():
    try:
        nn.CrossEntropyLoss()(torch.randn(3, 2), torch.tensor([0., 1., 2., 1.]))
    except (RuntimeError, ValueError):
        return True
    return False
assert self_test()
for _ in range(20):
    x = torch.randn(16, 4); loss = nn.functional.cross_entropy(m(x), (x[:, 0] > 0).long()); opt.zero_grad(); loss.backward(); opt.step()
