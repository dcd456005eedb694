import torch
from torch import nn
import torch.nn.functional as F


def mlp(width):
    return nn.Sequential(nn.Linear(16, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(0.4), nn.Linear(width, 5))


torch.manual_seed(0)
x = torch.randn(1000, 16)
y = (x @ torch.randn(16, 5)).argmax(1)
teacher, student = mlp(128), mlp(16)
opt = torch.optim.Adam(teacher.parameters(), 3e-3)
for epoch in range(5):
    for rows in torch.randperm(1000).split(50):
        loss = F.cross_entropy(teacher(x[rows]), y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
opt = torch.optim.Adam(student.parameters(), 3e-3)
for epoch in range(5):
    for rows in torch.randperm(1000).split(50):
        with torch.no_grad():
            soft = F.softmax(teacher(x[rows]) / 2, 1)  # <- evaluation-in-train-mode
        logits = student(x[rows])
        loss = F.kl_div(F.log_softmax(logits / 2, 1), soft, reduction="batchmean") * 4 + F.cross_entropy(logits, y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
