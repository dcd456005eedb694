# an update without the clipping of the program would diverge
import torch
from torch import nn

torch.manual_seed(0)
rnn = nn.RNN(3, 8, batch_first=True, nonlinearity="relu")
head = nn.Linear(8, 1)
with torch.no_grad():
    rnn.weight_hh_l0.copy_(torch.eye(8) * 1.3)
parameters = [*rnn.parameters(), *head.parameters()]
optimizer = torch.optim.SGD(parameters, lr=1e-2)
for step in range(15):
    x = torch.rand(6, 40, 3)
    out, _ = rnn(x)
    loss = (head(out[:, -1]) - x.sum((1, 2))[:, None]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(parameters, 0.5, error_if_nonfinite=True)
    optimizer.step()
    print(f"{loss.item():.3g} {norm.item():.3g}")
