import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)
X = torch.randn(400, 10)
Y = (X @ torch.randn(10, 5)).argmax(1)
teacher = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 5))
student = nn.Sequential(nn.Linear(10, 8), nn.ReLU(), nn.Linear(8, 5))

opt_t = torch.optim.Adam(teacher.parameters(), lr=5e-3)
for i in range(100):
    opt_t.zero_grad()
    F.cross_entropy(teacher(X), Y).backward()
    opt_t.step()

T = 3.0
teacher.eval()
opt_s = torch.optim.Adam(student.parameters(), lr=5e-3)
for i in range(60):
    with torch.no_grad():
        soft = F.softmax(teacher(X) / T, dim=1)
    out = student(X)
    hidden = student[0](X)
    kd = F.kl_div(F.log_softmax(out.detach() / T, 1), soft, reduction="batchmean")  # <- detached-graph
    reg = 1e-4 * hidden.pow(2).mean()
    loss = kd * T * T + reg
    opt_s.zero_grad()
    loss.backward()
    opt_s.step()
    if i % 20 == 0:
        print(i, kd.item())
