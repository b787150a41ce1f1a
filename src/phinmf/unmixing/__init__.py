"""Take a recording apart: learn a model of it, separate it, and write folders of components."""
