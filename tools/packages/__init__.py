"""What tools/dist does, in parts. Start with build.py: what there is to pack; then wheel.py, debian.py, image.py
make a package each, and trial.py installs them on a clean Debian."""
