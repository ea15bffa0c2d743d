package faults

import (
	"fmt"
	"syscall"
)

// Kind is what an operation does.
type Kind string

// The operations that change something. A truncate is also an extension by a hole.
const (
	Create   Kind = "create"
	Mkdir    Kind = "mkdir"
	Write    Kind = "write"
	Truncate Kind = "truncate"
	Rename   Kind = "rename"
	Link     Kind = "link"
	Unlink   Kind = "unlink"
	Rmdir    Kind = "rmdir"
	Fsync    Kind = "fsync"     // of a file
	FsyncDir Kind = "fsync dir" // of a folder
)

// Op is one operation. Nodes are named by number, because a file may lose its name while it is open.
type Op struct {
	Kind Kind
	Path string        // where the file or folder was, relative to the mounted folder; for messages and rules
	Err  syscall.Errno // what it was answered with; the operation then changed nothing, but see [Fsync]

	node    uint64 // what it is about: the file, or the folder that holds the name
	name    string
	child   uint64 // of Create, Mkdir and Link
	to      uint64 // the new folder of Rename
	newName string
	offset  int64
	data    []byte
	size    int64
}

func (o Op) String() string {
	s := fmt.Sprintf("%s %s", o.Kind, o.Path)
	switch o.Kind {
	case Write:
		s += fmt.Sprintf(" at %d, %d bytes", o.offset, len(o.data))
	case Truncate:
		s += fmt.Sprintf(" to %d", o.size)
	case Rename:
		s += " to " + o.newName
	}
	if o.Err != 0 {
		s += ": " + o.Err.Error()
	}
	return s
}

// Rule interrupts or fails operations.
type Rule struct {
	Match func(Op) bool // nil: every operation
	// From and To choose among the operations that match, counted from 1 since the rule was set. To 0 means every one
	// from From on.
	From, To int
	Err      syscall.Errno // the operation's answer; it changes nothing. 0: it goes on as usual
	Do       func()        // runs before the operation, which waits for it; it must not touch the mounted folder

	seen int
}

// applies counts op and reports whether it is one of the chosen ones.
func (r *Rule) applies(op Op) bool {
	if r.Match != nil && !r.Match(op) {
		return false
	}
	r.seen++
	return r.seen >= r.From && (r.To == 0 || r.seen <= r.To)
}
