import torch

torch.manual_seed(0)
w = torch.nn.Parameter(torch.randn(3))
for it in range(5):
    loss = (w**2).sum()
    (g,) = torch.autograd.grad(loss, w, create_graph=True)
    h = torch.autograd.grad(g.sum(), w)[0]
    with torch.no_grad():
        w -= 0.1 * g / h
print(torch.autograd.functional.hessian(lambda v: (v**4).sum(), w.detach()))
