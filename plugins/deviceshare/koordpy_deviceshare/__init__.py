"""DeviceShare: which card a Pod gets, and who holds what of every card.

Lives here: the scheduler's face (scheduling), the one decision (allocator) and what it prefers (scoring), what a node
must be besides (gates, designated), the books (cache, node_book, listing), the dialects and hints in which pods ask for
devices, and the values all of them speak (model, request, refusals).
May touch: its arguments, the Handle, its own books in event hooks, Reserve and Unreserve.
Never: sockets, files, the clock, logging, an event loop, the host, another plugin. A problem with an object is handed
to `handle.report`.
"""
