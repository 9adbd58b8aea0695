//! Listeners, sockets, buffers and timers: the readiness loop that drives a protocol service
