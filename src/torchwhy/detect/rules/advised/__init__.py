"""Messages with advice, by what they are about; `advice_row` makes the rows of all these tables."""
