"""Seq2seq reversal task with teacher forcing; logits normalised along the batch."""
import torch
from torch import nn

PAD, BOS = 0, 1
VOCAB = 12


class Encoder(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d)
        self.rnn = nn.GRU(d, d, batch_first=True)

    def forward(self, x):
        return self.rnn(self.emb(x))


class AttnDecoder(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d)
        self.rnn = nn.GRU(2 * d, d, batch_first=True)
        self.query = nn.Linear(d, d)
        self.out = nn.Linear(d, VOCAB)

    def attend(self, h, memory):
        scores = torch.einsum("bd,btd->bt", self.query(h[-1]), memory)
        weights = torch.softmax(scores, dim=0)  # <- softmax-over-batch
        return torch.einsum("bt,btd->bd", weights, memory)

    def forward(self, tokens, memory, h):
        outs = []
        for t in range(tokens.shape[1]):
            ctx = self.attend(h, memory)
            inp = torch.cat([self.emb(tokens[:, t]), ctx], -1).unsqueeze(1)
            o, h = self.rnn(inp, h)
            outs.append(self.out(o))
        return torch.cat(outs, 1)


class Seq2Seq(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.encoder, self.decoder = Encoder(d), AttnDecoder(d)

    def forward(self, src, tgt_in):
        memory, h = self.encoder(src)
        return self.decoder(tgt_in, memory, h)


def batch(n=32, t=5):
    src = torch.randint(2, VOCAB, (n, t))
    tgt = src.flip(1)
    bos = torch.full((n, 1), BOS)
    return src, torch.cat([bos, tgt[:, :-1]], 1), tgt


torch.manual_seed(0)
model = Seq2Seq()
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
crit = nn.CrossEntropyLoss(ignore_index=PAD)
for step in range(90):
    src, tin, tout = batch()
    loss = crit(model(src, tin).reshape(-1, VOCAB), tout.reshape(-1))
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if step % 30 == 0:
        print(step, loss.item())
