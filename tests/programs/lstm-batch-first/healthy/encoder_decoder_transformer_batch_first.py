import torch
from torch import nn


class Translator(nn.Module):
    def __init__(self, words=20):
        super().__init__()
        self.embed = nn.Embedding(words, 16)
        self.transformer = nn.Transformer(16, 2, 1, 1, 32, batch_first=True)
        self.out = nn.Linear(16, words)

    def forward(self, source, target):
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        return self.out(self.transformer(self.embed(source), self.embed(target), tgt_mask=mask))


torch.manual_seed(0)
model = Translator()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(15):
    source = torch.randint(0, 20, (12, 7))
    target = torch.cat([torch.zeros(12, 1, dtype=torch.long), source.flip(1)], dim=1)
    logits = model(source, target[:, :-1])
    loss = nn.functional.cross_entropy(logits.reshape(-1, 20), target[:, 1:].reshape(-1), label_smoothing=0.1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
