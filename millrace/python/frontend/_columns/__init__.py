"""Feature columns: values that say how the features of examples become numbers that a model takes."""
