// Package natsfiles reads and writes two kinds of files that the NATS server keeps of a stream beside its blocks: the index
// (msgs/index.db) and the description (meta.inf, meta.sum). It holds for nats-server 2.15, and only encodes and decodes:
// what is durable is for the caller to say.
//
// With an index that matches the blocks the server starts without reading them. Without one it reads all blocks, and cuts
// off or deletes what it cannot read. So Ledge checks the blocks itself, and writes the index.
package natsfiles
