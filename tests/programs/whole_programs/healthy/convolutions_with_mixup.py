import torch
from torch import nn

torch.manual_seed(0)
m = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1),
    nn.BatchNorm2d(8),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(8, 8, 3, padding=1),
    nn.GroupNorm(2, 8),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(8, 5),
)
opt = torch.optim.SGD(m.parameters(), 0.1, momentum=0.9, nesterov=True, weight_decay=1e-4)
for i in range(6):
    x = torch.randn(8, 3, 16, 16)
    y = torch.randint(0, 5, (8,))
    lam = torch.distributions.Beta(0.2, 0.2).sample()
    p = torch.randperm(8)
    o = m(lam * x + (1 - lam) * x[p])
    ce = nn.CrossEntropyLoss(label_smoothing=0.1)
    l = lam * ce(o, y) + (1 - lam) * ce(o, y[p])
    opt.zero_grad()
    l.backward()
    opt.step()
