"""What tools/dist does, in parts. Start with build.py: what there is to pack; then wheel_build.py, debian.py and
image_build.py make a package each, and trial.py installs them on a clean Debian."""
