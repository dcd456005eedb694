import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(600, 8)
y = (x @ torch.randn(8, 3)).argmax(1)
teacher = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 3))
student = nn.Sequential(nn.Linear(8, 12), nn.ReLU(), nn.Linear(12, 3))
opt = torch.optim.Adam(teacher.parameters(), 5e-3)
for rows in torch.randint(0, 500, (60, 32)):
    loss = nn.functional.cross_entropy(teacher(x[rows]), y[rows])
    opt.zero_grad()
    loss.backward()
    opt.step()
opt = torch.optim.Adam(student.parameters(), 5e-3)
for epoch in range(6):
    for rows in torch.randperm(500).split(25):
        with torch.no_grad():
            soft = teacher(x[rows]).softmax(1)
        loss = nn.functional.cross_entropy(student(x[rows]), soft)
        opt.zero_grad()
        loss.backward()
        opt.step()
    student_loss = nn.functional.cross_entropy(student(x[500:]), y[500:]).item()
    with torch.no_grad():
        teacher_loss = nn.functional.cross_entropy(teacher(x[500:]), y[500:]).item()
    print(epoch, student_loss, teacher_loss)
