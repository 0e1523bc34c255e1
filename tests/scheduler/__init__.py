"""The whole scheduler in virtual time, beside an embedded cluster that answers as the test wants."""
