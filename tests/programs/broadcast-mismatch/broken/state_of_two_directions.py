import torch
import torch.nn as nn

class Encoder(nn.Module):
    def __init__(self, vocab, dim, hid):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.gru = nn.GRU(dim, hid, bidirectional=True, batch_first=True)
    def forward(self, x):
        return self.gru(self.emb(x))

class Decoder(nn.Module):
    def __init__(self, vocab, dim, hid):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.gru = nn.GRU(dim, hid, batch_first=True)
        self.out = nn.Linear(hid, vocab)
    def forward(self, y, hidden):
        o, hidden = self.gru(self.emb(y), hidden)  # <- broadcast-mismatch
        return self.out(o), hidden

enc, dec = Encoder(40, 16, 32), Decoder(40, 16, 32)
opt = torch.optim.Adam(list(enc.parameters()) + list(dec.parameters()))
for i in range(20):
    src = torch.randint(0, 40, (8, 9)); tgt = torch.randint(0, 40, (8, 7))
    memory, hidden = enc(src)
    logits, _ = dec(tgt[:, :-1], hidden)
    loss = nn.functional.cross_entropy(logits.reshape(-1, 40), tgt[:, 1:].reshape(-1))
    opt.zero_grad(); loss.backward(); opt.step()
