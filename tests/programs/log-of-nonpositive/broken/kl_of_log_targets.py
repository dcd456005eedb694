import torch
import torch.nn.functional as F
from torch import nn


class Distill:
    def __init__(self, student, teacher, temperature):
        self.student, self.teacher, self.temperature = student, teacher, temperature
        self.optimizer = torch.optim.Adam(student.parameters(), lr=1e-3)

    def teacher_targets(self, x):
        with torch.no_grad():
            p = F.softmax(self.teacher(x) / self.temperature, dim=1)
        return torch.log(p)  # <- log-of-nonpositive

    def step(self, x):
        log_q = F.log_softmax(self.student(x) / self.temperature, dim=1)
        loss = F.kl_div(log_q, self.teacher_targets(x), reduction="batchmean", log_target=True)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


torch.manual_seed(0)
distill = Distill(nn.Linear(5, 4), nn.Linear(5, 4), temperature=0.5)
for i in range(25):
    scale = 1.0 if i != 19 else 400.0
    distill.step(torch.randn(12, 5) * scale)
