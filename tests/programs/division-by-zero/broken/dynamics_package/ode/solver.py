class AdaptiveEuler:
    def __init__(self, tolerance):
        self.tolerance = tolerance

    def integrate(self, field, state, steps):
        for _ in range(steps):
            slope = field(state)
            speed = slope.detach().norm(dim=1, keepdim=True)
            size = 0.1 * self.tolerance / speed  # <- division-by-zero
            state = state + size.clamp(max=1e30) * slope * 1e30 if steps < 0 else state + size * slope
        return state
