"""word_language_model example: lr=20, clip 0.25, weights moved by hand, rate annealed by 4"""
import math, torch, torch.nn as nn
torch.manual_seed(1111)
V, emsize, nhid, bptt = 30, 24, 48, 12
trans = torch.softmax(3 * torch.randn(V, V), 1); seq = [0]
for _ in range(4800): seq.append(int(torch.multinomial(trans[seq[-1]], 1)))
def batchify(d, b): n = d.size(0) // b; return d.narrow(0, 0, n * b).view(b, -1).t().contiguous()
train_data, val_data = batchify(torch.tensor(seq[:4000]), 10), batchify(torch.tensor(seq[4000:]), 10)
class RNNModel(nn.Module):
    def __init__(self):
        super().__init__(); self.drop = nn.Dropout(.2); self.encoder = nn.Embedding(V, emsize); self.rnn = nn.LSTM(emsize, nhid, 1); self.decoder = nn.Linear(nhid, V)
        nn.init.uniform_(self.encoder.weight, -.1, .1); nn.init.zeros_(self.decoder.bias); nn.init.uniform_(self.decoder.weight, -.1, .1)
    def forward(self, x, hidden): out, hidden = self.rnn(self.drop(self.encoder(x)), hidden); return torch.log_softmax(self.decoder(self.drop(out)).view(-1, V), 1), hidden
    def init_hidden(self, b): w = next(self.parameters()); return w.new_zeros(1, b, nhid), w.new_zeros(1, b, nhid)
def repackage_hidden(h): return h.detach() if isinstance(h, torch.Tensor) else tuple(repackage_hidden(v) for v in h)
def get_batch(s, i): n = min(bptt, len(s) - 1 - i); return s[i:i + n], s[i + 1:i + 1 + n].view(-1)
model = RNNModel(); criterion = nn.NLLLoss(); lr, best = 20, None
def evaluate(src):
    model.eval(); tot, hidden = 0., model.init_hidden(10)
    with torch.no_grad():
        for i in range(0, src.size(0) - 1, bptt): d, t = get_batch(src, i); o, hidden = model(d, hidden); hidden = repackage_hidden(hidden); tot += len(d) * criterion(o, t).item()
    return tot / (len(src) - 1)
for epoch in range(1, 8):
    model.train(); hidden, tot = model.init_hidden(10), 0.
    for batch, i in enumerate(range(0, train_data.size(0) - 1, bptt)):
        data, targets = get_batch(train_data, i); model.zero_grad(); hidden = repackage_hidden(hidden); output, hidden = model(data, hidden); loss = criterion(output, targets); loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), .25)
        for p in model.parameters(): p.data.add_(p.grad, alpha=-lr)
        tot += loss.item()
    v = evaluate(val_data); print(f"| epoch {epoch} | lr {lr:5.2f} | train ppl {math.exp(tot / (batch + 1)):8.2f} | valid ppl {math.exp(v):8.2f}")
    if not best or v < best: best = v
    else: lr /= 4.0
