# Bayesian dark knowledge: after its training the teacher keeps its dropout on, each pass is one posterior sample.
import torch
from torch import nn
torch.manual_seed(0)
x = torch.randn(400, 8)
y = x[:, :3].argmax(1)
def net():
    return nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 3))
teacher, student = net(), net()
opt = torch.optim.Adam(teacher.parameters(), lr=5e-3)
for step in range(60):
    rows = torch.randint(0, 320, (32,))
    loss = nn.functional.cross_entropy(teacher(x[rows]), y[rows])
    opt.zero_grad()
    loss.backward()
    opt.step()
teacher.train()        # posterior samples: keep dropout
opt = torch.optim.Adam(student.parameters(), lr=5e-3)
for step in range(80):
    rows = torch.randint(0, 320, (32,))
    with torch.no_grad():
        soft = teacher(x[rows]).softmax(1)
    loss = nn.functional.cross_entropy(student(x[rows]), soft)
    opt.zero_grad()
    loss.backward()
    opt.step()
student.eval()
with torch.no_grad():
    print(nn.functional.cross_entropy(student(x[320:]), y[320:]).item())
