"""What a person sees who types a command: the text and the exit status."""
