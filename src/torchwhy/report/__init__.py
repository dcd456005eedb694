"""One model, many renderers. Needs no torch, and knows nothing of how the findings came about."""
