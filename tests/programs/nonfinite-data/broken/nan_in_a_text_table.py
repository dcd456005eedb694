import torch

text = "1,2,3\n4,5,nan\n7,8,9\n1,1,1"
rows = [[float(v) for v in line.split(",")] for line in text.splitlines()]
x = torch.tensor(rows)  # <- nonfinite-data
torch.manual_seed(0)
m = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(m.parameters(), lr=0.01)
for step in range(3):
    loss = (m(x) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
