import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(1)
x = torch.randn(512, 20)
y = (x @ torch.randn(20, 5)).argmax(1)
teacher = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 5)).requires_grad_(False)
student = nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 5))
opt = torch.optim.Adam(student.parameters(), lr=1e-3)
for step in range(60):
    rows = torch.randint(0, 512, (64,))
    wanted, output = teacher(x[rows]), student(x[rows])
    targets = F.log_softmax(wanted / 5, dim=-1)
    guesses = F.log_softmax(wanted / 5, dim=-1)
    soft = F.kl_div(guesses, targets, reduction="batchmean", log_target=True)  # <- detached-loss-term
    loss = 0.9 * 25 * soft + 0.1 * F.cross_entropy(output, y[rows])
    opt.zero_grad()
    loss.backward()
    opt.step()
