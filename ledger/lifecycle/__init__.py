"""The life of submissions and jobs, from the request to the final state. One module for each step."""
