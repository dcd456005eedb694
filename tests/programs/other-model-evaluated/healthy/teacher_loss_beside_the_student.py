# Distillation log: the teacher's loss is printed each epoch for comparison, the student is evaluated at the end.
import torch
from torch import nn
torch.manual_seed(0)
x = torch.randn(400, 6)
y = x[:, :3].argmax(1)
teacher = nn.Linear(6, 3)
with torch.no_grad():
    teacher.weight.zero_()
    teacher.weight[:, :3].copy_(3 * torch.eye(3))
    teacher.bias.zero_()
student = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
opt = torch.optim.Adam(student.parameters(), lr=1e-2)
for epoch in range(5):
    running = 0.0
    for rows in torch.arange(320).split(32):
        with torch.no_grad():
            soft = teacher(x[rows]).softmax(1)
        loss = nn.functional.cross_entropy(student(x[rows]), soft)
        opt.zero_grad()
        loss.backward()
        opt.step()
        running += loss.item() / 10
    with torch.no_grad():
        teacher_loss = nn.functional.cross_entropy(teacher(x[320:]), y[320:])
        print(f"epoch {epoch} distillation {running:.4f} (teacher {teacher_loss.item():.4f})")
student.eval()
with torch.no_grad():
    test_loss = nn.functional.cross_entropy(student(x[320:]), y[320:])
print("student", test_loss.item())
