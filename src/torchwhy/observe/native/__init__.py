"""The optional accelerator: ordinary steps of a cruising loop in C, and the descriptors that see them.

It is built if a C compiler is available when torchwhy is installed. It handles ordinary events only and leaves all
others to the Python code, which defines the behaviour. `TORCHWHY_NATIVE=0` switches it off.
"""
