import torch
from torch import nn

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 3))
student = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
first = torch.optim.Adam(teacher.parameters(), lr=1e-2)
for step in range(40):
    x = torch.randn(32, 6)
    loss = nn.functional.cross_entropy(teacher(x), x[:, :3].argmax(dim=1))
    first.zero_grad()
    loss.backward()
    first.step()
teacher.eval()
second = torch.optim.Adam(student.parameters(), lr=1e-2)
for step in range(40):
    x = torch.randn(32, 6)
    with torch.no_grad():
        wanted = teacher(x).softmax(dim=1)
    loss = nn.functional.kl_div(student(x).log_softmax(dim=1), wanted, reduction="batchmean")
    second.zero_grad()
    loss.backward()
    second.step()
