import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 6)
opt = torch.optim.Adam(net.parameters(), 1e-2)
for step in range(30):
    x = torch.randn(8, 4)
    q = torch.softmax(x @ torch.ones(4, 6), 1)
    loss = nn.functional.kl_div(net(x).log_softmax(1), q, reduction="batchmean")
    opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        hard = nn.functional.one_hot(net(x).argmax(1), 6).float()
        divergence = (q * (q.log() - hard.log())).sum(1).mean()
        best_possible = hard.log().max()
    if step % 10 == 0:
        print(loss.item(), divergence.item())
