"""What `koordpy check` says of files."""
