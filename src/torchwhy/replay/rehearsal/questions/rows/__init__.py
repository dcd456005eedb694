"""Questions about the rows that training and evaluation meet."""
