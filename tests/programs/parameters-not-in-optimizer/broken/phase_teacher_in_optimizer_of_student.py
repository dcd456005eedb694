import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Small(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.fc1 = nn.Linear(16, hidden)
        self.fc2 = nn.Linear(hidden, 4)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


x = torch.randn(512, 16)
y = x[:, :4].argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)


def train_teacher(teacher, epochs=6):
    optimizer = torch.optim.Adam(teacher.parameters(), lr=3e-3)
    for _ in range(epochs):
        for xb, yb in loader:
            optimizer.zero_grad()
            F.cross_entropy(teacher(xb), yb).backward()
            optimizer.step()


def train_student(teacher, student, epochs=6):
    teacher.eval()
    optimizer = torch.optim.Adam(teacher.parameters(), lr=3e-3)  # <- parameters-not-in-optimizer
    for epoch in range(epochs):
        running = 0.0
        for xb, yb in loader:
            with torch.no_grad():
                t_logits = teacher(xb)
            s_logits = student(xb)
            loss = F.mse_loss(s_logits, t_logits) + F.cross_entropy(s_logits, yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        print("student epoch", epoch, running / len(loader))


teacher = Small(64)
train_teacher(teacher)
student = Small(16)
train_student(teacher, student)
