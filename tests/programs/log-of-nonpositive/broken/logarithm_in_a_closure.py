import torch

torch.manual_seed(0)
theta = torch.nn.Parameter(torch.tensor([0.5, 0.5, 0.0]))
counts = torch.tensor([10.0, 20.0, 5.0])
opt = torch.optim.LBFGS([theta], lr=1.0)


def closure():
    opt.zero_grad()
    p = theta / theta.sum()
    nll = -(counts * p.log()).sum()  # <- log-of-nonpositive
    nll.backward()
    return nll


for _ in range(10):
    opt.step(closure)
