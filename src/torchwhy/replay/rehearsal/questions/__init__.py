"""One file per question of the rehearsal: `SLUG` and `ask`; files are found."""
