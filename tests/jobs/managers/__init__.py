"""Job managers that are ready to use, and the tests that hold any of them to its promises."""
