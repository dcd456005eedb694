import torch

torch.manual_seed(0)
t = torch.linspace(0, 3, 50)
y = 1.7 * torch.exp(-0.8 * t) + 0.01 * torch.randn(50)
theta = torch.nn.Parameter(torch.tensor([1.0, -0.1]))
fit = torch.optim.LBFGS([theta], lr=0.5, max_iter=20, line_search_fn="strong_wolfe")


def closure():
    fit.zero_grad()
    loss = ((theta[0] * torch.exp(theta[1] * t) - y) ** 2).mean()
    loss.backward()
    return loss


best = float("inf")
for _ in range(6):
    best = min(best, fit.step(closure).item())
print(best, theta.tolist())
