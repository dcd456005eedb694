import torch
import torch.nn.functional as F

torch.manual_seed(0)
rnn = torch.nn.LSTM(5, 8, batch_first=True)
head = torch.nn.Linear(8, 6)
opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()], lr=1e-2)
for step in range(5):
    h, _ = rnn(torch.randn(3, 7, 5))
    lp = head(h).transpose(0, 1).log_softmax(-1)
    t = torch.randint(1, 6, (3 * (5 if step < 3 else 9),))
    n = 5 if step < 3 else 9
    losses = F.ctc_loss(lp, t, (7, 7, 7), (n, n, n), reduction="none")  # <- infeasible-ctc
    loss = losses.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
