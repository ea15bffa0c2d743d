package faults

import (
	"maps"
	"slices"
	"time"
)

const (
	pageSize   = 4096
	sectorSize = 512
	rootID     = 1
)

// node is a file or a folder: as programs see it, and what of it is durable.
type node struct {
	id    uint64
	dir   bool
	mtime time.Time

	data    []byte
	durable []byte
	dirty   map[int64]bool // pages that may differ from durable

	entries        map[string]*node
	durableEntries map[string]*node
}

// edit is a change of directory entries that is not durable yet. A rename is one edit of two entries: file systems make
// it happen as a whole or not at all.
type edit []entry

type entry struct {
	dir  *node
	name string
	node *node // nil: the entry goes away
}

// disk is a tree of nodes.
type disk struct {
	nodes   map[uint64]*node
	last    uint64
	pending []edit // oldest first
}

func newDisk() *disk {
	d := &disk{nodes: map[uint64]*node{}, last: rootID}
	d.nodes[rootID] = newNode(rootID, true)
	return d
}

func newNode(id uint64, dir bool) *node {
	n := &node{id: id, dir: dir, mtime: time.Now()}
	if dir {
		n.entries, n.durableEntries = map[string]*node{}, map[string]*node{}
	} else {
		n.dirty = map[int64]bool{}
	}
	return n
}

// clone returns a copy of a disk on which everything is durable.
func (d *disk) clone() *disk {
	c := &disk{nodes: map[uint64]*node{}, last: d.last}
	for id, n := range d.nodes {
		m := newNode(id, n.dir)
		m.data, m.durable = slices.Clone(n.data), slices.Clone(n.data)
		c.nodes[id] = m
	}
	for id, n := range d.nodes {
		for name, child := range n.entries {
			c.nodes[id].entries[name] = c.nodes[child.id]
		}
		c.nodes[id].durableEntries = maps.Clone(c.nodes[id].entries)
	}
	return c
}

// apply does an operation that was allowed. What op names exists: the caller has looked.
func (d *disk) apply(op Op) {
	n := d.nodes[op.node]
	if op.Err != 0 {
		if op.Kind == Fsync {
			clear(n.dirty) // reported once; the pages count as clean
			n.durable = resize(n.durable, int64(len(n.data)))
		}
		return
	}
	switch op.Kind {
	case Create, Mkdir:
		child := newNode(op.child, op.Kind == Mkdir)
		d.nodes[op.child], d.last = child, max(d.last, op.child)
		d.edit(entry{n, op.name, child})
	case Link:
		d.edit(entry{n, op.name, d.nodes[op.child]})
	case Unlink, Rmdir:
		d.edit(entry{n, op.name, nil})
	case Rename:
		d.edit(entry{n, op.name, nil}, entry{d.nodes[op.to], op.newName, n.entries[op.name]})
	case Write:
		n.data = resize(n.data, max(int64(len(n.data)), op.offset+int64(len(op.data))))
		copy(n.data[op.offset:], op.data)
		n.touch(op.offset, op.offset+int64(len(op.data)))
	case Truncate:
		old := int64(len(n.data))
		n.data = resize(n.data, op.size)
		n.touch(min(old, op.size), max(old, op.size))
	case Fsync:
		n.sync()
	case FsyncDir:
		d.syncDir(n)
	}
}

func (d *disk) edit(e ...entry) {
	for _, one := range e {
		d.set(one)
	}
	d.pending = append(d.pending, e)
}

func (d *disk) set(e entry) {
	if e.node == nil {
		delete(e.dir.entries, e.name)
	} else {
		e.dir.entries[e.name] = e.node
	}
	e.dir.mtime = time.Now()
}

// touch marks the pages of a range as dirty.
func (n *node) touch(from, to int64) {
	for page := from / pageSize; page*pageSize < to; page++ {
		n.dirty[page] = true
	}
	n.mtime = time.Now()
}

func (n *node) sync() {
	n.durable = resize(n.durable, int64(len(n.data)))
	for page := range n.dirty {
		if from := page * pageSize; from < int64(len(n.data)) {
			copy(n.durable[from:], n.data[from:min(from+pageSize, int64(len(n.data)))])
		}
	}
	clear(n.dirty)
}

// syncDir makes the entries of a folder durable, and with each the other half of its rename.
func (d *disk) syncDir(n *node) {
	d.pending = slices.DeleteFunc(d.pending, func(e edit) bool {
		if !slices.ContainsFunc(e, func(one entry) bool { return one.dir == n }) {
			return false
		}
		for _, one := range e {
			one.keep()
		}
		return true
	})
}

func (e entry) keep() {
	if e.node == nil {
		delete(e.dir.durableEntries, e.name)
	} else {
		e.dir.durableEntries[e.name] = e.node
	}
}

// resize grows by zeros. Bytes that were cut off do not come back.
func resize(b []byte, size int64) []byte {
	if size <= int64(len(b)) {
		return b[:size:size]
	}
	if size <= int64(cap(b)) {
		grown := b[:size]
		clear(grown[len(b):])
		return grown
	}
	grown := make([]byte, size, max(size, 2*int64(cap(b))))
	copy(grown, b)
	return grown
}
