import torch
from torch import nn

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4)).requires_grad_(False)
student = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
optimizer = torch.optim.Adam(student.parameters(), lr=3e-3)
for _ in range(30):
    noise = torch.randn(32, 8)
    wanted = nn.functional.log_softmax(3 * teacher(noise), dim=1)
    given = nn.functional.log_softmax(student(noise), dim=1)
    loss = nn.functional.kl_div(given, wanted, log_target=True, reduction="batchmean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
