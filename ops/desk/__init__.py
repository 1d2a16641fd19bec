"""What an operator asks for and does, whether by the command line or by the console."""
