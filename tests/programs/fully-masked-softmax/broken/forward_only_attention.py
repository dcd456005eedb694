import torch

torch.manual_seed(0)
s = torch.randn(2, 3, 3)
mask = torch.tensor([[[1, 0, 0], [1, 1, 0], [0, 0, 0]]]).bool()
a = torch.softmax(s.masked_fill(~mask, float("-inf")), -1)  # <- fully-masked-softmax
out = a @ torch.randn(3, 4)
print(out.mean())
