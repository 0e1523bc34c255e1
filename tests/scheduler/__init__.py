"""The whole scheduler in virtual time, beside a small cluster whose answers the test writes down."""
