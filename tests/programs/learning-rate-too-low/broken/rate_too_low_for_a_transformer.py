"""Plain SGD at 1e-6 for a small encoder."""
import torch
from torch import nn

torch.manual_seed(0)
enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True), 1, enable_nested_tensor=False)
emb, head = nn.Embedding(10, 16), nn.Linear(16, 2)
model = nn.ModuleList([enc, emb, head])
opt = torch.optim.SGD(model.parameters(), lr=1e-6)  # <- learning-rate-too-low
for i in range(100):
    tokens = torch.randint(10, (32, 6))
    y = (tokens == 3).any(1).long()
    logits = head(enc(emb(tokens)).mean(1))
    loss = nn.functional.cross_entropy(logits, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 25 == 0:
        print(i, loss.item())
