import torch, torch.nn as nn
text = "the quick brown fox jumps over the lazy dog. pack my box with five dozen liquor jugs. " * 30
chars = sorted(set(text)); stoi = {c: i for i, c in enumerate(chars)}
ids = torch.tensor([stoi[c] for c in text])
class CharRNN(nn.Module):
    def __init__(s, v, h=64):
        super().__init__(); s.emb = nn.Embedding(v, 32); s.rnn = nn.GRU(32, h, batch_first=True); s.out = nn.Linear(h, v)
    def forward(s, x, h=None):
        y, h = s.rnn(s.emb(x), h); return s.out(y), h
torch.manual_seed(0)
m = CharRNN(len(chars)); opt = torch.optim.Adam(m.parameters(), 3e-3); crit = nn.CrossEntropyLoss()
B, T = 8, 32
chunk = len(ids) // B; data = ids[: chunk * B].view(B, chunk)
losses = []
for epoch in range(3):
    h = None
    for t in range(0, chunk - T - 1, T):
        x, y = data[:, t:t+T], data[:, t+1:t+T+1]
        logits, h = m(x, h); h = h.detach()
        loss = crit(logits.reshape(-1, len(chars)), y.reshape(-1))
        opt.zero_grad(); loss.backward(); torch.nn.utils.clip_grad_norm_(m.parameters(), 5.0); opt.step()
        losses.append(loss.item())
    with torch.no_grad():
        x = torch.tensor([[stoi["t"]]]); hh = None; s = "t"
        for _ in range(30):
            l, hh = m(x, hh); x = torch.multinomial(l[:, -1].softmax(-1), 1); s += chars[x.item()]
    print(epoch, sum(losses[-10:]) / 10, repr(s))
