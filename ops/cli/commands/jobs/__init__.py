"""Commands about jobs, and the listings of them."""
