"""The hook specifications, in the order in which a Pod meets them: admission, queueing, scheduling, binding.

A plugin implements any of them with `@hookimpl`, as methods with the same argument names; leaving arguments out is
fine, adding some is not, and no hook ever gains one. Every specification reads in the same five lines: when it is
called, what it returns, what happens if it raises, what it must not do, and which kube-scheduler interface it is.
"""
