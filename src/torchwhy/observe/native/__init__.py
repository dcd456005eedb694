"""The optional accelerator: ordinary steps of a loop that cruises, in C, and the stand-ins that meet them.

It is built when torchwhy is installed where there is a compiler, and stands in front of the Python code, which remains
the one that knows: whatever is out of the ordinary is handed on. `TORCHWHY_NATIVE=0` leaves it out.
"""
