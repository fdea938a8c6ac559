"""What the tests of this folder share."""

# What ends a test whose cluster hangs; nothing takes that long when all is well.
PATIENCE = 150
