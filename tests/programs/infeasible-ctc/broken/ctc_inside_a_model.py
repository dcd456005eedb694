import torch
from torch import nn


class Recognizer(nn.Module):
    def __init__(self, vocab=12):
        super().__init__()
        self.rnn = nn.GRU(8, 16, batch_first=True)
        self.fc = nn.Linear(16, vocab)
        self.ctc = nn.CTCLoss(blank=0)

    def loss(self, x, targets, lengths):
        h, _ = self.rnn(x)
        logp = self.fc(h).log_softmax(-1).permute(1, 0, 2)
        input_lengths = torch.full((x.shape[0],), x.shape[1], dtype=torch.long)
        return self.ctc(logp, targets, input_lengths, lengths)  # <- infeasible-ctc


torch.manual_seed(0)
model = Recognizer()
opt = torch.optim.Adam(model.parameters())
for step in range(30):
    n = 4 if step % 10 else 15
    loss = model.loss(torch.randn(4, 10, 8), torch.randint(1, 12, (4, n)), torch.full((4,), n))
    opt.zero_grad()
    loss.backward()
    opt.step()
