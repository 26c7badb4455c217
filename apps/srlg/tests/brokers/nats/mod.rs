//! Streams and subjects of NATS.
