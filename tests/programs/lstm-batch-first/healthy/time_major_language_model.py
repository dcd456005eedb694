import torch
from torch import nn


class LanguageModel(nn.Module):
    def __init__(self, words=30):
        super().__init__()
        self.embed = nn.Embedding(words, 16)
        self.rnn = nn.LSTM(16, 24, num_layers=2, dropout=0.1)
        self.out = nn.Linear(24, words)

    def forward(self, tokens, state=None):
        states, state = self.rnn(self.embed(tokens), state)
        return self.out(states), state


torch.manual_seed(0)
corpus = torch.randint(0, 30, (1600,)).view(8, -1).t().contiguous()  # (time, batch)
model = LanguageModel()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
state = None
for start in range(0, 180, 12):
    tokens, following = corpus[start : start + 12], corpus[start + 1 : start + 13]
    if state is not None:
        state = tuple(part.detach() for part in state)
    logits, state = model(tokens, state)
    loss = nn.functional.cross_entropy(logits.view(-1, 30), following.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
