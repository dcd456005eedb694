import torch
from torch import nn

torch.manual_seed(0)
rnn = nn.RNN(3, 8, nonlinearity="relu", batch_first=True)
head = nn.Linear(8, 1)
opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()], 1e-3)
for step in range(8):
    x = torch.randn(4, 5, 3)
    out, _ = rnn(x)
    mask = torch.arange(5)[None] < torch.tensor([5, 3, 2, 1 if step != 5 else 0])[:, None]
    pooled = (out * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)  # <- empty-reduction
    loss = (head(pooled) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
