import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 10)
wanted = torch.softmax(x @ torch.randn(10, 4), dim=1)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(60):
    rows = torch.randint(0, 256, (32,))
    log_p = F.logsigmoid(model(x[rows]))
    loss = F.kl_div(log_p, wanted[rows], reduction="batchmean")  # <- impossible-loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
