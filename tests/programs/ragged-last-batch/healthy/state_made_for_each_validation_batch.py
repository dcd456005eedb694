import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
batch_size = 20


class SentimentNet(nn.Module):
    def __init__(self, vocab_size, hidden_dim, n_layers):
        super().__init__()
        self.n_layers = n_layers
        self.hidden_dim = hidden_dim
        self.embedding = nn.Embedding(vocab_size, 16)
        self.lstm = nn.LSTM(16, hidden_dim, n_layers, batch_first=True)
        self.fc = nn.Linear(hidden_dim, 1)

    def forward(self, x, hidden):
        lstm_out, hidden = self.lstm(self.embedding(x), hidden)
        return self.fc(lstm_out[:, -1]).squeeze(1), hidden

    def init_hidden(self, batch_size):
        weight = next(self.parameters()).data
        return (weight.new(self.n_layers, batch_size, self.hidden_dim).zero_(),
                weight.new(self.n_layers, batch_size, self.hidden_dim).zero_())


def make(n):
    x = torch.randint(0, 30, (n, 8))
    return TensorDataset(x, (x[:, 0] > 15).float())


train_loader = DataLoader(make(200), shuffle=True, batch_size=batch_size)
val_loader = DataLoader(make(73), batch_size=batch_size)
model = SentimentNet(30, 24, 2)
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
for i in range(4):
    model.train()
    torch.set_grad_enabled(True)
    h = model.init_hidden(batch_size)
    for inputs, labels in train_loader:
        h = tuple([e.data for e in h])
        model.zero_grad()
        output, h = model(inputs, h)
        loss = criterion(output, labels)
        loss.backward()
        optimizer.step()
    val_h = None
    val_losses = []
    model.eval()
    torch.set_grad_enabled(False)
    for inp, lab in val_loader:
        val_h = model.init_hidden(len(inp))
        out, val_h = model(inp, val_h)
        val_losses.append(criterion(out, lab).item())
    print("Epoch", i, loss.item(), sum(val_losses) / len(val_losses))
