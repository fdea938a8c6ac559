"""Sessions of training programs: prepared by a chief, watched by hooks, made anew when they are lost."""
