import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1),
    nn.BatchNorm2d(8),
    nn.ReLU(inplace=True),  # <- inplace-modification
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(8, 4),
)
saved = {}


def save_gradient(module, grad_input, grad_output):
    saved["grad"] = grad_output[0].detach()


model[1].register_full_backward_hook(save_gradient)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
images, labels = torch.randn(16, 3, 8, 8), torch.randint(0, 4, (16,))
for step in range(5):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
