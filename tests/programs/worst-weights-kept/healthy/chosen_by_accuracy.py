# fine-tuning of a sharp classifier: the first epoch has the best accuracy, while the loss goes on falling
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)
w = torch.randn(8, 4)
x = torch.randn(1500, 8)
y = (x @ w + 1.5 * torch.randn(1500, 4)).argmax(1)
net = nn.Linear(8, 4)
with torch.no_grad():
    net.weight.copy_(6 * w.T)
    net.bias.zero_()
opt = torch.optim.SGD(net.parameters(), lr=3.0)
best_acc, best = 0.0, None
for epoch in range(10):
    for i in torch.randperm(300).split(60):
        loss = F.cross_entropy(net(x[i]), y[i], label_smoothing=0.2)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        out = net(x[300:])
        val_loss = F.cross_entropy(out, y[300:]).item()
        acc = (out.argmax(1) == y[300:]).float().mean().item()
    if acc > best_acc:
        best_acc, best = acc, copy.deepcopy(net.state_dict())
    print(epoch, loss.item(), val_loss, acc)
net.load_state_dict(best)
print("kept", best_acc)
