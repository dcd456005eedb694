# A generator of perturbations is trained to enlarge the error of a fixed classifier.
import torch, torch.nn as nn, torch.nn.functional as F

torch.manual_seed(0)
x = torch.randn(300, 6)
y = (x[:, 0] > 0).long()
clf = nn.Linear(6, 2)
with torch.no_grad():
    clf.weight.copy_(torch.tensor([[-3.0, 0, 0, 0, 0, 0], [3.0, 0, 0, 0, 0, 0]]))
    clf.bias.zero_()
clf.requires_grad_(False).eval()
gen = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 6), nn.Tanh())
opt = torch.optim.Adam(gen.parameters(), 1e-2)
for i in range(100):
    loss = -F.cross_entropy(clf(x + 0.3 * gen(x)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
