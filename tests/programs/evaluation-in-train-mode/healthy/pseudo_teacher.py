import copy
import torch
from torch import nn
torch.manual_seed(0)
student = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 3))
teacher = copy.deepcopy(student)
opt = torch.optim.SGD(student.parameters(), lr=0.05)
for step in range(40):
    x = torch.randn(32, 6); y = x[:, :3].argmax(1)
    with torch.no_grad():
        t = teacher(x + 0.05 * torch.randn_like(x)).softmax(1)
    s = student(x)
    loss = nn.functional.cross_entropy(s, y) + nn.functional.mse_loss(s.softmax(1), t)
    opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        for a, b in zip(teacher.parameters(), student.parameters()): a.mul_(0.9).add_(b, alpha=0.1)
student.eval()
with torch.no_grad(): print((student(x).argmax(1) == y).float().mean().item())
