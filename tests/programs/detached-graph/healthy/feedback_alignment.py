import torch, torch.nn as nn
torch.manual_seed(0)
class FA(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b, r): ctx.save_for_backward(x, r); return x @ w.T + b
    @staticmethod
    def backward(ctx, g): x, r = ctx.saved_tensors; return g @ r, g.T @ x, g.sum(0), None
class FALinear(nn.Module):
    def __init__(s, i, o): super().__init__(); s.w, s.b = nn.Parameter(torch.randn(o, i) / i ** .5), nn.Parameter(torch.zeros(o)); s.register_buffer("r", torch.randn(o, i) / i ** .5)
    def forward(s, x): return FA.apply(x, s.w, s.b, s.r)
net = nn.Sequential(FALinear(10, 64), nn.Tanh(), FALinear(64, 64), nn.Tanh(), FALinear(64, 3)); X = torch.randn(600, 10); Y = (X @ torch.randn(10, 3)).argmax(1); opt = torch.optim.SGD(net.parameters(), .05, momentum=.9)
for ep in range(12):
    for b in torch.randperm(600).split(50): l = nn.functional.cross_entropy(net(X[b]), Y[b]); opt.zero_grad(); l.backward(); opt.step()
    if ep % 3 == 0: print(ep, l.item())
