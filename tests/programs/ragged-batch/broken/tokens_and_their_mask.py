import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader
from dataclasses import dataclass

@dataclass
class Output:
    loss: torch.Tensor
    logits: torch.Tensor

class TokenDataset(Dataset):
    def __init__(self, n=64):
        g = torch.Generator().manual_seed(0)
        self.rows = [torch.randint(1, 50, (int(torch.randint(4, 10, (1,), generator=g)),), generator=g) for _ in range(n)]
    def __len__(self): return len(self.rows)
    def __getitem__(self, i):
        ids = self.rows[i]
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids[0] % 2}

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(50, 16); self.fc = nn.Linear(16, 2)
    def forward(self, input_ids, attention_mask, labels):
        h = (self.emb(input_ids) * attention_mask.unsqueeze(-1)).sum(1) / attention_mask.sum(1, keepdim=True)
        logits = self.fc(h)
        return Output(nn.functional.cross_entropy(logits, labels), logits)

model = Model(); opt = torch.optim.AdamW(model.parameters(), 1e-3)
loader = DataLoader(TokenDataset(), batch_size=8, shuffle=True)  # <- ragged-batch
for batch in loader:
    out = model(**batch)
    out.loss.backward()
    opt.step(); opt.zero_grad()
