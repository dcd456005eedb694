import torch
from torch import nn

torch.manual_seed(0)
rnn = nn.GRU(6, 16, batch_first=True)
head = nn.Linear(16, 5)  # blank and four characters
optimizer = torch.optim.Adam([*rnn.parameters(), *head.parameters()], lr=1e-2)
ctc = nn.CTCLoss(zero_infinity=True)
lengths = torch.randint(1, 4, (48,))
targets = torch.full((48, 4), -1)
for row, length in enumerate(lengths):
    targets[row, :length] = torch.randint(1, 5, (int(length),))
targets[3, lengths[3] :] = 99  # what lies behind a target is never read
sounds = nn.functional.one_hot(targets.clamp(min=0) % 6, 6).float().repeat_interleave(3, 1)
for epoch in range(12):
    for rows in torch.randperm(48).split(16):
        scores = head(rnn(sounds[rows])[0]).log_softmax(-1).transpose(0, 1)
        loss = ctc(scores, targets[rows], torch.full((16,), 12), lengths[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
