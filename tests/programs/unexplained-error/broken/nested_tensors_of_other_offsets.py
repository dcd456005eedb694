import torch
from torch import nn

torch.manual_seed(0)
position, project, head = nn.Embedding(8, 4), nn.Linear(4, 4), nn.Linear(4, 1)
opt = torch.optim.SGD([*position.parameters(), *project.parameters(), *head.parameters()], lr=0.1)
for step in range(5):
    parts = [torch.rand(int(n), 4) for n in torch.randint(2, 6, (8,))]
    x = torch.nested.nested_tensor(parts, layout=torch.jagged)
    places = [position(torch.arange(len(part))) for part in parts]
    y = project(x) + torch.nested.as_nested_tensor(places, layout=torch.jagged)  # <- unexplained-error
    loss = head(torch.nested.to_padded_tensor(y, 0.0).mean(1)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
