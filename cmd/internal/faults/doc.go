// Package faults is a file system in memory, mounted with FUSE, that numbers every operation that changes something,
// fails or interrupts chosen ones, and records all of them.
//
// A test runs a real program on the mounted folder. From the recording it then makes folders as the program would find
// them afterwards:
//
//   - [Recording.Killed]: after a kill at operation N. The page cache survives a kill, so the folder holds the operations
//     before N and no other.
//   - [Recording.Cut]: after a power cut at operation N. What was fsynced is there. Of everything else a seeded random
//     part is there: pages, sectors within a page, and directory entries, each independently.
//
// The model is stricter than common file systems: an fsync of a file does not make its directory entry durable, only an
// fsync of the folder does. A failed fsync behaves as on Linux: the error is reported once, the dirty pages count as
// clean from then on, so they never become durable unless they are written again, and reads still return them.
//
// Memory holds the files, the durable copies and all recorded writes: use it with small folders.
package faults
