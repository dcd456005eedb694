"""One file per question: its words, the facts that answer it, and what they measured."""
