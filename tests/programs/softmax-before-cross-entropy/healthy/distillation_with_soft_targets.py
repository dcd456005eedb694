import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 5))
student = nn.Linear(10, 5)
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
temperature = 4.0
for step in range(60):
    x = torch.randn(64, 10)
    y = x[:, :5].argmax(dim=1)
    with torch.no_grad():
        soft = F.softmax(teacher(x) / temperature, dim=1)
    logits = student(x)
    kl = F.kl_div(F.log_softmax(logits / temperature, dim=1), soft, reduction="batchmean") * temperature**2
    ce = F.cross_entropy(logits, y) + F.cross_entropy(logits, soft)
    loss = 0.5 * kl + 0.5 * ce
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
