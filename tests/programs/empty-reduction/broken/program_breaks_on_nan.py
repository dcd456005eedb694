import torch

torch.manual_seed(0)
m = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(m.parameters(), lr=0.1)
for step in range(20):
    x = torch.randn(6, 3)
    sel = x[:, 0] > (0 if step < 7 else 9)
    loss = (m(x)[sel] - 1).abs().mean()  # <- empty-reduction
    if torch.isnan(loss):
        print("nan, stop")
        break
    opt.zero_grad()
    loss.backward()
    opt.step()
