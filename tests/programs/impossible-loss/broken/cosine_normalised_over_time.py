# sequences of embeddings: normalize works on axis 1, which is time here, and the products are summed over the features
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
frames = torch.randn(64, 5, 12)
student, teacher = nn.Linear(12, 16), nn.Linear(12, 16).requires_grad_(False)
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
for step in range(40):
    batch = frames[torch.randint(0, 64, (16,))]
    s, t = F.normalize(student(batch)), F.normalize(teacher(batch))
    loss = 1 - (s * t).sum(-1).mean()  # <- impossible-loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
