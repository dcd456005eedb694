import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Sentences(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.items = [torch.randint(1, 80, (int(torch.randint(4, 15, (1,), generator=g)),), generator=g) for _ in range(n)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i], int(self.items[i][0] > 40)


def pad(batch):
    tokens = nn.utils.rnn.pad_sequence([t for t, _ in batch], batch_first=True)
    return tokens, tokens == 0, torch.tensor([y for _, y in batch])


class AttentionPool(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(80, dim, padding_idx=0)
        self.attn = nn.MultiheadAttention(dim, num_heads=4, batch_first=True)
        self.head = nn.Linear(dim, 3)

    def forward(self, tokens, padding):
        x = self.embed(tokens)
        x, _ = self.attn(x, x, x, key_padding_mask=padding)
        return self.head(x.mean(1))


def fit(model, loader, epochs):
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for _ in range(epochs):
        for tokens, padding, y in loader:
            loss = nn.functional.cross_entropy(model(tokens, padding), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(loss.item())


torch.manual_seed(3)
fit(AttentionPool(), DataLoader(Sentences(96, 0), batch_size=16, collate_fn=pad), 3)
