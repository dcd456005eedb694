from collections import defaultdict


class SmoothedValue:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def update(self, value, n=1):
        self.total += float(value) * n
        self.count += n

    @property
    def average(self):
        return float(self.total / max(self.count, 1))


class MetricLogger:
    def __init__(self):
        self.meters = defaultdict(SmoothedValue)

    def update(self, **values):
        for k, v in values.items():
            self.meters[k].update(v)

    def __str__(self):
        return "  ".join(f"{k} {m.average:.4f}" for k, m in self.meters.items())
