"""What a program that does not train does with bad values."""
