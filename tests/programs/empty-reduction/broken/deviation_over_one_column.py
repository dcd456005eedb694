import torch

torch.manual_seed(0)
m = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
opt = torch.optim.SGD(m.parameters(), lr=0.1)
for step in range(6):
    x = torch.randn(4, 3)
    z = m(x)
    z = (z - z.mean(1, keepdim=True)) / z.std(1, keepdim=True)  # <- empty-reduction
    loss = z.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
