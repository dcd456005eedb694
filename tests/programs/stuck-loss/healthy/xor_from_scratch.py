import torch
torch.manual_seed(2)
X = torch.tensor([[0., 0], [0, 1], [1, 0], [1, 1]]); Y = torch.tensor([[0.], [1], [1], [0]])
W1 = torch.randn(2, 8, requires_grad=True); b1 = torch.zeros(8, requires_grad=True)
W2 = torch.randn(8, 1, requires_grad=True); b2 = torch.zeros(1, requires_grad=True)
opt = torch.optim.SGD([W1, b1, W2, b2], lr=1.0)
for i in range(800):
    p = torch.sigmoid(torch.sigmoid(X @ W1 + b1) @ W2 + b2)
    loss = ((p - Y) ** 2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
