import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.embed = nn.Embedding(20, width, padding_idx=0)
        layer = nn.TransformerEncoderLayer(width, 2, 32, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, 3)

    def forward(self, words):
        real = words != 0
        h = self.encoder(self.embed(words), src_key_padding_mask=real)  # <- mask-inverted
        return self.head(h[:, 0])


torch.manual_seed(0)
words = torch.randint(1, 20, (64, 12))
lengths = torch.randint(3, 11, (64,))
words[torch.arange(12)[None] >= lengths[:, None]] = 0
labels = words[:, 1] % 3
model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(8):
    rows = torch.randint(0, 64, (8,))
    loss = nn.functional.cross_entropy(model(words[rows]), labels[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
