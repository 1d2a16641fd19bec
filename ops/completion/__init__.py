"""What a shell completes of a command that is being typed.

All that our parsers know is written into the script that ``sluice completion`` prints, so that nothing of ours has to
start while somebody types. Only names that definitions give are looked up meanwhile, by ``names``: a file that needs
nothing but Python itself, and is run by it without what takes long to find.
"""
