import torch
scores = torch.randn(4, 4)
mask = torch.triu(torch.full((4, 4), float("-inf")), diagonal=1)
print(scores + mask)
print(torch.softmax(scores + mask, -1))
