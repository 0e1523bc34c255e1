"""What koordpy's programs rely on in an API server: one suite of named behaviours on three clusters.

Here live the behaviours (test_*.py: each async function is one, its name is the sentence), the three faces they run on
(face.py), the fixtures and the lines in pytest's summary (conftest.py) and the page made of it all (page.py).
A behaviour that takes a `face` runs in-process, over HTTP and on the real kube-apiserver; one that takes a `wire` is
about HTTP itself and runs on the latter two.
May touch: a cluster through its protocol, or the bytes on the wire.
Must never: know which face it runs on; hold the embedded cluster to what the real server was not seen to do; wait for
more than four seconds, because on two faces they are real ones; expect a cluster to be empty of what others made.
`pytest tests/cluster/contract --write-contract` runs everything and writes docs/contract.md.
"""
