package store

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
)

// begun is the first event that a log is known to have had since its manifest was lost. By names who remembers it.
type begun struct {
	by  string
	seq uint64
}

// begunBy returns what the state file of a log remembers of its beginning, and if that is not known (0) what the server's index does. Only a log
// whose manifest is missing or damaged asks.
func begunBy(l *Log, state uint64) begun {
	if l.forever {
		return begun{}
	}
	if own := serverIndex(l); state == 0 && own != nil {
		return begun{filepath.Base(indexPath(l)), own.First}
	}
	return begun{"the projection", state}
}

// fromArchives takes where the log of changes begins from its archives and snapshots, if the manifest is missing and the log does not begin with
// event 1.
func (m *manifest) fromArchives(l *logReader) {
	if !m.missing || m.now.First.First > 0 || l.archives == nil {
		return
	}
	all, err := l.blocks.List()
	if err != nil || len(all) == 0 {
		return
	}
	begins := uint64(0)
	if r, err := l.blocks.First(all[0]); err == nil && r.IsMessage() {
		begins = r.Seq()
	}
	if begins == 1 {
		return
	}
	ends := archivedEnds(l)
	best := slices.IndexFunc(ends, func(e End) bool { return e.Seq+1 == begins })
	if len(ends) > 0 {
		e := ends[max(best, 0)]
		m.now.First = logStart{First: e.Seq + 1, Chain: hex.EncodeToString(e.Chain[:])}
	}
}

// archivedEnds returns where the usable snapshots and archives end, the newest snapshot first, and the newest archive before older ones.
func archivedEnds(l *logReader) (ends []End) {
	for _, s := range l.snapshots {
		ends = append(ends, End{Seq: s.Seq, Chain: s.Head})
	}
	list, _ := l.archives.List()
	for _, ref := range slices.Backward(list) {
		r, err := openArchive(l, filepath.Join(l.archives.dir, ref.File))
		if err != nil {
			continue // the reader of the manifest reports its damage
		}
		chain, _ := chainOf(r.header.After)
		ends = append(ends, End{Seq: r.header.Last, Chain: chain})
		r.close()
	}
	return ends
}

// oneNode returns the id of the node that has written the manifests, and other files, by their names; "" if none has one. It returns a [Damage] if
// there are files of two nodes.
func oneNode(manifests []*manifest, others map[string]string) (node string, err error) {
	file := ""
	for _, m := range manifests {
		if m.now.Node == "" {
			continue
		}
		if node != "" && m.now.Node != node {
			return "", ofTwoNodes(filepath.Base(m.path), m.now.Node, file, node)
		}
		node, file = m.now.Node, cmp.Or(file, filepath.Base(m.path))
	}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		other := others[name]
		if other == "" {
			continue
		}
		if node != "" && other != node {
			return "", ofTwoNodes(name, other, file, node)
		}
		node, file = other, cmp.Or(file, name)
	}
	return node, nil
}

func ofTwoNodes(name, node, than, other string) error {
	return &Damage{Stream: name, What: fmt.Sprintf("it is of node %s, and %s is of node %s: files of two data folders are mixed; put the files of one of them back", node, than, other)}
}

// ReadNode returns the id of the node whose log is in the store's folder dir; "" if its manifest is missing or has none.
func ReadNode(dir string) (string, error) {
	m, err := readManifest(dir, EventsStream)
	if err != nil {
		return "", err
	}
	return m.now.Node, nil
}

// newNode returns the id of a new node.
func newNode() string { return rand.Text() }
