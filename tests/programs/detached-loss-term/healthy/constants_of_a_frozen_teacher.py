import torch
from torch import nn
from torch.nn import functional as F

# Constants of the frozen teacher, added so that the printed loss contains them: halves, other rows, other noise.
torch.manual_seed(1)
x = torch.randn(512, 20)
y = (x @ torch.randn(20, 5)).argmax(1)
teacher = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 6)).requires_grad_(False)
student = nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 5))
opt = torch.optim.Adam(student.parameters(), lr=1e-3)
for step in range(60):
    rows = torch.randint(0, 512, (64,))
    wanted = teacher(x[rows])
    mean, spread = wanted.chunk(2, dim=1)
    halves = (mean - spread).pow(2).mean()
    neighbours = F.mse_loss(teacher(x[rows]), teacher(x[rows.flip(0)]))
    noise = (F.dropout(wanted, 0.5) - F.dropout(wanted, 0.5)).pow(2).mean()
    late = F.mse_loss(torch.tanh(wanted[1:]), torch.tanh(wanted[:-1]))
    loss = F.cross_entropy(student(x[rows]), y[rows]) + 0.1 * (halves + neighbours + noise + late)
    opt.zero_grad()
    loss.backward()
    opt.step()
