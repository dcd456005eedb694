import torch
torch.manual_seed(0)
N, D_in, H, D_out = 64, 200, 50, 10
x = torch.randn(N, D_in); y = torch.randn(N, D_out)
w1 = torch.randn(D_in, H, requires_grad=True)
w2 = torch.randn(H, D_out, requires_grad=True)
opt = torch.optim.SGD([w1, w2], lr=1e-6)
for t in range(300):
    y_pred = x.mm(w1).clamp(min=0).mm(w2)
    loss = (y_pred - y).pow(2).sum()
    opt.zero_grad(); loss.backward(); opt.step()
    if t % 100 == 99: print(t, loss.item())
