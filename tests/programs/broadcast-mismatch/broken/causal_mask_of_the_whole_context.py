import torch
import torch.nn as nn

CONTEXT = 24


class TextEncoder(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.token_embedding = nn.Embedding(100, width)
        self.positional_embedding = nn.Parameter(torch.randn(CONTEXT, width) * 0.01)
        layer = nn.TransformerEncoderLayer(width, 4, 64, batch_first=True, dropout=0.0)
        self.transformer = nn.TransformerEncoder(layer, 2)
        self.register_buffer("mask", torch.full((CONTEXT, CONTEXT), float("-inf")).triu(1))
        self.lm = nn.Linear(width, 100)

    def forward(self, text):
        x = self.token_embedding(text)
        x = x + self.positional_embedding[: text.shape[1]]
        x = self.transformer(x, mask=self.mask)  # <- broadcast-mismatch
        return self.lm(x)


class Trainer:
    def __init__(self, model, lr=1e-3):
        self.model = model
        self.optim = torch.optim.Adam(model.parameters(), lr=lr)

    def step(self, batch):
        logits = self.model(batch[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        self.optim.zero_grad()
        loss.backward()
        self.optim.step()
        return loss.item()


if __name__ == "__main__":
    torch.manual_seed(5)
    trainer = Trainer(TextEncoder())
    corpus = torch.randint(0, 100, (400,))
    for i in range(20):
        start = torch.randint(0, 400 - CONTEXT, (8,))
        batch = torch.stack([corpus[s:s + CONTEXT] for s in start])
        print(i, trainer.step(batch))
