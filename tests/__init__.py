"""The test suite: `tests/<stage>` mirrors `src/torchwhy/<stage>`; `support` runs whole programs."""
