import torch

torch.manual_seed(0)
m = torch.nn.Linear(4, 1)
opt = torch.optim.SGD(m.parameters(), lr=0.1)
crit = torch.nn.MSELoss()
data = torch.randn(20, 4)
for step in range(6):
    batch = data[step * 4 : (step + 1) * 4]
    loss = crit(m(batch), batch[:, :1])  # <- empty-reduction
    opt.zero_grad()
    loss.backward()
    opt.step()
