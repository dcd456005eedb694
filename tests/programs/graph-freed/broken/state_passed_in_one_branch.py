import torch
from torch import nn

torch.manual_seed(0)
STEPS, ATTENTION = 8, False
words = torch.randint(0, 20, (STEPS + 1, 6, 4))


class Speaker(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.cell = nn.LSTM(8, 16)
        self.head = nn.Linear(16, 20)

    def forward(self, rows, state=None):
        seen, state = self.cell(self.embed(rows), state)
        return self.head(seen), state


model = Speaker()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
hidden = (torch.zeros(1, 4, 16), torch.zeros(1, 4, 16))
for step in range(STEPS):
    if ATTENTION:
        scores = model(words[step])[0]
        scores = scores.view(-1, 20)
    else:
        scores, hidden = model(words[step], hidden)  # <- graph-freed
        scores = scores.view(-1, 20)
    loss = nn.functional.cross_entropy(scores, words[step + 1].view(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
