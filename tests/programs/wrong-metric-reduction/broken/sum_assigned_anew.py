import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(1000, 10)
y = (x[:, 0] + x[:, 1] > 0).long()
x_test, y_test = x[800:], y[800:]
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
batchsize = 50
for epoch in range(6):
    model.train()
    for i in range(0, 800, batchsize):
        loss = nn.functional.cross_entropy(model(x[i:i + batchsize]), y[i:i + batchsize])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    sum_loss, sum_accuracy = 0.0, 0.0
    with torch.no_grad():
        for i in range(0, 200, batchsize):
            out = model(x_test[i:i + batchsize])
            t = y_test[i:i + batchsize]
            sum_loss += nn.functional.cross_entropy(out, t).item() * batchsize
            sum_accuracy = (out.argmax(1) == t).float().mean().item() * batchsize  # <- wrong-metric-reduction
    print(f"epoch {epoch} loss {sum_loss / 200:.4f} accuracy {sum_accuracy / 200:.4f}")
