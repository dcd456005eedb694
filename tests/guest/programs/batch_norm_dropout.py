import torch
from torch import nn
import witness

witness.seed()
model = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Dropout2d(0.3),
    nn.Conv2d(8, 8, 3), nn.GroupNorm(2, 8), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.5), nn.Linear(8, 4),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, amsgrad=True)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.05, total_steps=10)
images, labels = torch.randn(24, 3, 12, 12), torch.randint(4, (24,))
for step in range(5):
    model.train()
    loss = nn.functional.cross_entropy(model(images), labels, label_smoothing=0.1)
    optimizer.zero_grad(set_to_none=step % 2 == 0)
    loss.backward()
    optimizer.step()
    scheduler.step()
    model.eval()
    with torch.no_grad():
        accuracy = (model(images).argmax(1) == labels).float().mean()
    witness.swear("loss", loss)
    witness.swear("accuracy", accuracy)
    print(step, loss.item(), accuracy.item(), scheduler.get_last_lr())
witness.swear("model", model)
witness.swear("optimizer", optimizer)
witness.testify()
