import torch
from torch import nn

torch.manual_seed(0)
X = torch.randn(300, 7)
Y = X[:, :3].argmax(1)


def block(i, o):
    return nn.Sequential(nn.Linear(i, o), nn.ReLU())  # <- activation-on-logits


enc = nn.Sequential(block(7, 24), block(24, 24))
dec = nn.Linear(24, 7)
opt = torch.optim.SGD([*enc.parameters(), *dec.parameters()], lr=0.1)
for i in range(60):
    loss = ((dec(enc(X)) - X) ** 2).mean()
    opt.zero_grad(); loss.backward(); opt.step()

clf = nn.Sequential(enc, block(24, 3))
opt = torch.optim.SGD(clf.parameters(), lr=0.1)
ce = nn.CrossEntropyLoss()
for i in range(60):
    loss = ce(clf(X), Y)
    opt.zero_grad(); loss.backward(); opt.step()
    if i % 20 == 0:
        print(loss.item())
