"""Parts of a policy, and the limits and priorities that it sets."""
