import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def mlp(width):
    return nn.Sequential(nn.Linear(12, width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, 6))


def batches(n, size=64):
    for _ in range(n):
        x = torch.randn(size, 12)
        yield x, (x[:, :6] + 0.3 * x[:, 6:]).argmax(1)


def fit(model, steps, loss_fn, lr):
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    for i, (x, y) in enumerate(batches(steps)):
        loss = loss_fn(model(x), x, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if i % 40 == 0:
            print(i, round(loss.item(), 4))
    return model


teacher = fit(mlp(128), 120, lambda out, x, y: F.cross_entropy(out, y), 3e-3)
teacher.eval()


def distill(out, x, y, T=4.0, alpha=0.7):
    with torch.no_grad():
        t = teacher(x)
    soft = F.kl_div(F.log_softmax(out / T, dim=1), F.softmax(t / T, dim=1), reduction="batchmean") * T * T
    return alpha * soft + (1 - alpha) * F.cross_entropy(out, y)


student = fit(mlp(16), 120, distill, 5e-3)
ema = copy.deepcopy(student)
student = fit(student, 60, distill, 1e-3)
