import json

import torch
from torch import nn
import witness


def main(rate=0.1, width=4, name="run"):
    settings = locals()
    model = nn.Linear(width, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    print(json.dumps(settings))
    for step in range(3):
        loss = model(torch.randn(5, width)).square().mean()
        loss.backward()
        optimizer.step()
        print(json.dumps(settings), sorted(vars()) if step == 2 else "")
        settings.pop("optimizer", None)
        for added in set(settings) - {"rate", "width", "name"}:
            del settings[added]


witness.seed()
main()
witness.testify()
