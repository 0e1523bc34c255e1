"""Who is tried when, in virtual time: the order, the back-off, and what updates and deletions do in every state."""
