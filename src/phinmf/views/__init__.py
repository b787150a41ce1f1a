"""What people see: pictures and commands."""
