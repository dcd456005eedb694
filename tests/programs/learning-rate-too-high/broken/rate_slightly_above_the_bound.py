import torch

torch.manual_seed(0)
x = torch.randn(100, 3) * torch.tensor([3.0, 1.0, 0.3])
y = x @ torch.tensor([[1.0], [2.0], [3.0]])
w = torch.nn.Parameter(torch.zeros(3, 1))
bound = 2 / torch.linalg.eigvalsh(2 * x.T @ x / 100)[-1].item()
optimizer = torch.optim.SGD([w], lr=1.05 * bound)  # <- learning-rate-too-high
for i in range(80):
    loss = ((x @ w - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
