import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
import witness

witness.seed()
embedding = nn.Embedding(20, 6, padding_idx=0)
lstm = nn.LSTM(6, 8, num_layers=2, dropout=0.2, bidirectional=True, batch_first=True)
gru = nn.GRU(16, 5, batch_first=True)
model = nn.ModuleList([embedding, lstm, gru])
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-2)
for step in range(4):
    tokens = torch.randint(1, 20, (3, 7))
    lengths = torch.tensor([7, 4, 2])
    packed = pack_padded_sequence(embedding(tokens), lengths, batch_first=True, enforce_sorted=False)
    hidden, (state, cell) = lstm(packed)
    padded, _ = pad_packed_sequence(hidden, batch_first=True)
    out, last = gru(padded)
    loss = out.mean() + state.square().mean() + cell.abs().mean() + last.std()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(model.parameters(), 0.1)
    optimizer.step()
    witness.swear("loss", loss)
witness.swear("model", model)
witness.swear("optimizer", optimizer)
witness.testify()
