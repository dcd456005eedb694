import torch


class Bad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient.reshape(7)


w = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
Bad.apply(w * 2).sum().backward()
