import torch
import witness

witness.seed()
w = torch.randn(3, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
x = torch.randn(20, 3)
y = x @ torch.tensor([1.0, -2.0, 0.5])
for step in range(6):
    loss = ((x @ w + b - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        b -= 0.1 * b.grad
    w.grad.zero_()
    b.grad = None
    witness.swear("loss", loss)
(first,) = torch.autograd.grad((w**3).sum(), w, create_graph=True)
(second,) = torch.autograd.grad(first.sum(), w)
hessian = torch.autograd.functional.hessian(lambda v: (v**4).sum(), w.detach())
jacobian = torch.autograd.functional.jacobian(torch.sigmoid, w.detach())
witness.swear("derivatives", [w, b, first, second, hessian, jacobian])
witness.testify()
