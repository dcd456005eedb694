import copy
import torch
import torch.nn as nn

torch.manual_seed(0)
student = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 4))
teacher = copy.deepcopy(student)
for p in teacher.parameters():
    p.requires_grad = False
opt = torch.optim.SGD(student.parameters(), lr=0.02)
m = 0.99
for it in range(40):
    x = torch.randn(64, 8)
    y = x[:, :4].argmax(1)
    logits = student(x + 0.1 * torch.randn_like(x))
    with torch.no_grad():
        soft = teacher(x).softmax(1)
    loss = nn.functional.cross_entropy(logits, y) + 0.1 * nn.functional.mse_loss(logits.softmax(1), soft)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for tp, sp in zip(teacher.parameters(), student.parameters()):
            tp.mul_(m).add_(sp, alpha=m)  # <- average-goes-wrong
