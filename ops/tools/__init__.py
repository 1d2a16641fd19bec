"""What is used to develop Sluice and is not in its distribution: the demo, the site, the pages made from code, the bill
of materials."""
