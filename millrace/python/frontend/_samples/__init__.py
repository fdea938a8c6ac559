"""Data that programs learn from: files read into arrays, and arrays made ready."""
