"""What outlasts a step: variables and queues."""
