import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, words=11, width=16):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.places = nn.Embedding(12, width)
        layer = nn.TransformerEncoderLayer(width, 2, 32, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(width, words)

    def forward(self, tokens):
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        h = self.embed(tokens) + self.places(torch.arange(tokens.shape[1]))
        return self.head(self.encoder(h, mask=mask, is_causal=True))


torch.manual_seed(0)
text = torch.randint(0, 11, (64, 13))
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(12):
    rows = text[torch.randint(0, 64, (8,))]
    logits = model(rows[:, :-1])
    loss = nn.functional.cross_entropy(logits.reshape(-1, 11), rows[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
