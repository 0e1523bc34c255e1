"""The distributions here are installed and run elsewhere; their own tests are not this run's."""

collect_ignore_glob = ["good/*", "broken/*"]
