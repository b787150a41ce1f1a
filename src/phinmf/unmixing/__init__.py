"""What takes a recording apart, in memory or into a folder."""
