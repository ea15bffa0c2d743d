package faults

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// Recording is a folder as it was when it was mounted, and the operations since.
type Recording struct {
	base *disk
	Ops  []Op
}

// Mode says how a power cut chooses among what was not fsynced.
type Mode int

// The modes of a power cut.
const (
	Nothing Mode = iota // nothing that was not fsynced is there
	Ordered             // directory entries as on a journaling file system: a random number of them, the oldest first; pages at random
	Pages               // pages and directory entries at random, each by itself
	Sectors             // as Pages, and some pages only in part
	Modes   = int(Sectors) + 1
)

// Killed writes to folder what a process finds that starts after another was killed just before operation n (0 is the
// first).
func (r *Recording) Killed(n int, folder string) error {
	return writeTree(r.replay(n).nodes[rootID], folder, func(n *node) map[string]*node { return n.entries }, func(n *node) []byte { return n.data })
}

// Cut writes to folder what a power cut just before operation n leaves. The same seed makes the same folder.
func (r *Recording) Cut(n int, mode Mode, seed uint64, folder string) error {
	d := r.replay(n)
	random := rand.New(rand.NewPCG(seed, uint64(n)))
	d.cutEntries(mode, random)
	return writeTree(d.nodes[rootID], folder, func(n *node) map[string]*node { return n.durableEntries },
		func(n *node) []byte { return n.cutData(mode, random) })
}

func (r *Recording) replay(n int) *disk {
	d := r.base.clone()
	for _, op := range r.Ops[:n] {
		d.apply(op)
	}
	return d
}

// cutEntries keeps some of the edits of directories that are not durable.
func (d *disk) cutEntries(mode Mode, random *rand.Rand) {
	ordered := random.IntN(len(d.pending) + 1)
	for i, e := range d.pending {
		kept := false
		switch mode {
		case Nothing:
		case Ordered:
			kept = i < ordered
		case Pages, Sectors:
			kept = random.IntN(2) == 0
		}
		if kept {
			for _, one := range e {
				one.keep()
			}
		}
	}
	d.pending = nil
}

// cutData returns what is left of a file's content.
func (n *node) cutData(mode Mode, random *rand.Rand) []byte {
	left := slices.Clone(n.durable)
	if mode == Nothing {
		return left
	}
	size := int64(len(n.data))
	if size < int64(len(left)) && random.IntN(2) == 0 {
		left = left[:size]
	}
	for _, page := range slices.Sorted(maps.Keys(n.dirty)) {
		from, to := page*pageSize, min((page+1)*pageSize, size)
		step := int64(pageSize)
		if mode == Sectors && random.IntN(2) == 0 {
			step = sectorSize
		}
		for ; from < to; from += step {
			if random.IntN(2) == 0 {
				end := min(from+step, to)
				left = resize(left, max(int64(len(left)), end))
				copy(left[from:end], n.data[from:end])
			}
		}
	}
	if int64(len(left)) < size && random.IntN(4) == 0 {
		left = resize(left, size) // the new size is durable, the last pages are not
	}
	return left
}

// writeTree writes a folder and all below it. It creates folder where that is missing.
func writeTree(n *node, folder string, entries func(*node) map[string]*node, data func(*node) []byte) error {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(entries(n))) {
		child, path := entries(n)[name], filepath.Join(folder, name)
		var err error
		if child.dir {
			err = writeTree(child, path, entries, data)
		} else {
			err = os.WriteFile(path, data(child), 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// load reads a folder into a disk on which everything is durable.
func load(folder string) (*disk, error) {
	d := newDisk()
	if folder == "" {
		return d, nil
	}
	if err := d.load(d.nodes[rootID], folder); err != nil {
		return nil, fmt.Errorf("load %s: %w", folder, err)
	}
	return d.clone(), nil
}

func (d *disk) load(dir *node, folder string) error {
	list, err := os.ReadDir(folder)
	for _, found := range list {
		path := filepath.Join(folder, found.Name())
		d.last++
		child := newNode(d.last, found.IsDir())
		d.nodes[child.id] = child
		d.set(entry{dir, found.Name(), child})
		if found.IsDir() {
			err = errors.Join(err, d.load(child, path))
			continue
		}
		b, rerr := os.ReadFile(path)
		child.data, err = b, errors.Join(err, rerr)
	}
	return err
}
