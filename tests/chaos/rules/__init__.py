"""What has to hold of a run. Each rule is a function of its history that tells of every place where it does not."""
