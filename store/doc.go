// Package store is the log: a NATS server with JetStream inside the process, three streams on it, and one way to append.
//
// [Open] starts the server, opens the streams and refuses a damaged one by name. An [Appender] takes commands, decides
// each in turn, appends the events in groups with one fsync for the group, has them applied to a [Projection], and only
// then answers. [Log.Read] and [Appender.Follow] give the events back, in order, with the chain of hashes verified.
//
// Taps are other people's NATS clients. They reach an account of their own, which sees recorded events and can change
// nothing. DESIGN.md says why things are as they are, and gives the bytes of the chain.
package store
