package store

import (
	"bytes"
	"strconv"

	"ledge/store/natsblock"
)

const headerFence = "Nats-Expected-Last-Sequence"

// fence is the value of the fence header: the sequence before the event. That of the first event of a group begins with a
// zero, which means the same to the server. So a reader of the block files sees where a group begins, and that all before it
// was durable: a group is published only after the fsync of the one before.
func fence(before uint64, first bool) string {
	text := strconv.FormatUint(before, 10)
	if first {
		return "0" + text
	}
	return text
}

// groupMark is how the fence of a group's first event begins, see [fence]; a digit follows.
const groupMark = "\r\n" + headerFence + ": 0"

// beginsGroup reports whether a record is the first of a group.
func beginsGroup(r natsblock.Record) bool {
	_, headers, _ := r.Parts()
	i := bytes.Index(headers, []byte(groupMark))
	return i >= 0 && headers[i+len(groupMark)] != '\r'
}
