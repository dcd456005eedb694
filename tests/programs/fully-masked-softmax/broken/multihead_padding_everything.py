"""One text of the batch is empty, so every key of it is padding."""
import torch
from torch import nn
from torch.utils.data import DataLoader

PAD = 0


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16, padding_idx=PAD)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.out = nn.Linear(16, 2)

    def forward(self, tokens):
        x = self.embed(tokens)
        padding = tokens == PAD
        mixed, _ = self.attention(x, x, x, key_padding_mask=padding)  # <- fully-masked-softmax
        return self.out((mixed * ~padding[..., None]).sum(1))


def collate(texts):
    tokens = nn.utils.rnn.pad_sequence([torch.tensor(t, dtype=torch.long) for t, _ in texts], batch_first=True)
    return tokens, torch.tensor([label for _, label in texts])


torch.manual_seed(0)
texts = [(torch.randint(1, 20, (3 + i % 4,)).tolist(), i % 2) for i in range(60)]
texts[41] = ([], 1)
loader = DataLoader(texts, batch_size=6, collate_fn=collate)
model = Reader()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(2):
    for tokens, label in loader:
        loss = nn.functional.cross_entropy(model(tokens), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
