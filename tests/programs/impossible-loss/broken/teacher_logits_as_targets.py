import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 5))
student = nn.Linear(8, 5)
optimizer = torch.optim.SGD(student.parameters(), lr=0.05)
for step in range(50):
    x = torch.randn(64, 8)
    with torch.no_grad():
        wanted = 3 * teacher(x)
    loss = F.cross_entropy(student(x), wanted)  # <- impossible-loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
