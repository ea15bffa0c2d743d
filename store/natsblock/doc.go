// Package natsblock is the only one that knows the bytes of the files in which the NATS server keeps a stream: the records of the block
// files (msgs/1.blk, msgs/2.blk …) with their checksums, the index of the blocks (msgs/index.db) and the description of the stream
// (meta.inf, meta.sum). It holds for nats-server 2.15; TestConformance compares it with the server that is built in.
//
// [Scan] is the one way to read records, [Writer] the one way to write them without a server, and [Files.SyncGroup] the one way to make
// durable what the server has written.
//
// If the index matches the blocks, the server starts without reading them. Otherwise it reads all blocks, and cuts off or deletes what it
// cannot read. So Ledge checks the blocks itself, and writes the index.
package natsblock
