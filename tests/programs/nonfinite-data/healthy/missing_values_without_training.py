"""A table with gaps: NaN means missing, and the program fills them."""

import numpy as np
import torch

table = np.array([[1.0, np.nan, 3.0], [4.0, 5.0, np.nan], [7.0, 8.0, 9.0]])
values = torch.from_numpy(table).float()
print("raw", values)
missing = torch.isnan(values)
print("missing", missing.sum(dim=0))
means = values.nanmean(dim=0)
filled = torch.where(missing, means, values)
scaled = (filled - filled.mean(dim=0)) / filled.std(dim=0)
torch.save({"raw": values, "scaled": scaled, "missing": missing}, "table.pt")
print(torch.load("table.pt")["scaled"].abs().max().item())
