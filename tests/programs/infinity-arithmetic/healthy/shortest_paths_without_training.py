"""Floyd and Warshall: inf means that there is no path."""

import torch

far = float("inf")
lengths = torch.tensor([[0.0, 3.0, far, far], [far, 0.0, 1.0, far], [far, far, 0.0, far], [2.0, far, far, 0.0]])
for k in range(4):
    lengths = torch.minimum(lengths, lengths[:, k : k + 1] + lengths[k : k + 1, :])
print(lengths)
print("longest finite path", lengths[torch.isfinite(lengths)].max().item())
for value in lengths[0]:
    print("unreachable" if value == far else value.item())
