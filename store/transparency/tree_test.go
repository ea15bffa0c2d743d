package transparency_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"ledge/domain"
	"ledge/store"
	"ledge/store/storetest"
	"ledge/store/transparency"
)

var discard = slog.New(slog.NewTextHandler(io.Discard, nil))

func mustSucceed(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// node is a store with some events and the chain hashes of them.
type node struct {
	*store.Store
	options store.Options
	path    string // of the kept hashes
	chains  []tlog.Hash
}

func mustNode(t testing.TB, events int) *node {
	t.Helper()
	dir := t.TempDir()
	n := &node{path: filepath.Join(dir, "tree"), options: store.Options{
		Dir: filepath.Join(dir, "nats"), ReserveBytes: 1 << 20, Logger: discard,
		ArchiveDir: filepath.Join(dir, "archive"), SnapshotDir: filepath.Join(dir, "snapshots"),
	}}
	s, err := store.Open(t.Context(), n.options)
	mustSucceed(t, err)
	t.Cleanup(func() { mustSucceed(t, s.Close()) })
	n.Store = s
	p := storetest.NewProjection()
	storetest.MustAdd(t, storetest.MustAppender(t, s.Events(), p), "a", events)
	for _, r := range p.Events() {
		n.chains = append(n.chains, r.Chain)
	}
	return n
}

func (n *node) mustTree(t *testing.T) *transparency.Tree {
	t.Helper()
	tree, err := transparency.Open(n.Events(), n.path, n.Node(), discard)
	mustSucceed(t, err)
	t.Cleanup(func() { mustSucceed(t, tree.Close()) })
	return tree
}

// rootOf is the hash of RFC 6962 of the first leaves, by its definition.
func rootOf(leaves []tlog.Hash) tlog.Hash {
	if len(leaves) == 1 {
		return tlog.RecordHash(leaves[0][:])
	}
	k := 1
	for 2*k < len(leaves) {
		k *= 2
	}
	return tlog.NodeHash(rootOf(leaves[:k]), rootOf(leaves[k:]))
}

func TestRoot(t *testing.T) {
	n := mustNode(t, 1300)
	tree := n.mustTree(t)
	for _, size := range []int{1, 2, 255, 256, 257, 511, 512, 1000, 1280, 1299, 1300} {
		if got, err := tree.Root(t.Context(), int64(size)); err != nil || got != rootOf(n.chains[:size]) {
			t.Errorf("of %d events: got %v, %v", size, got, err)
		}
	}
	for _, c := range []struct {
		level int
		n     int64
		w     int
		found bool
	}{
		{0, 0, 256, true}, {0, 0, 1, true}, {0, 5, 20, true}, {0, 5, 21, false}, {0, 6, 1, false},
		{1, 0, 5, true}, {1, 0, 6, false}, {1, 1, 1, false}, {2, 0, 1, false}, {8, 0, 1, false}, {63, 0, 1, false}, {0, 1 << 62, 1, false},
	} {
		text, err := tree.Tile(t.Context(), c.level, c.n, c.w)
		if found := err == nil; found != c.found || found && len(text) != c.w*32 || !found && domain.CodeOf(err) != domain.NotFound {
			t.Errorf("tile %d of level %d with %d hashes: %d bytes, %v", c.n, c.level, c.w, len(text), err)
		}
	}
	bundle, err := tree.Entries(t.Context(), 1, 256)
	if err != nil || len(bundle) != 256*34 || bundle[1] != 32 || tlog.Hash(bundle[36:68]) != n.chains[257] {
		t.Errorf("entries: %d bytes, %v", len(bundle), err)
	}
}

// TestDamagedHashesAreMadeAgain damages the file of kept hashes while the tree has it open, while it is closed, and has it belong to
// another log. Each time the tree is made again from the log.
func TestDamagedHashesAreMadeAgain(t *testing.T) {
	n := mustNode(t, 1300)
	want := rootOf(n.chains)
	check := func(what string, tree *transparency.Tree) {
		t.Helper()
		got, err := tree.Root(t.Context(), 1300)
		if domain.CodeOf(err) == domain.Unavailable { // it is being made again
			got, err = tree.Root(t.Context(), 1300)
		}
		if err != nil || got != want {
			t.Errorf("%s: got %v, %v; want %v", what, got, err, want)
		}
	}
	tree := n.mustTree(t)
	check("a new file", tree)
	text, err := os.ReadFile(n.path)
	mustSucceed(t, err)
	text[60] ^= 1
	mustSucceed(t, os.WriteFile(n.path, text, 0o600))
	check("damaged while it is open", tree)
	mustSucceed(t, os.WriteFile(n.path, text, 0o600))
	check("damaged while it was closed", n.mustTree(t))
	mustSucceed(t, os.Remove(n.path))
	check("missing", n.mustTree(t))

	other := mustNode(t, 1400)
	_, err = other.mustTree(t).Root(t.Context(), 1400)
	mustSucceed(t, err)
	text, err = os.ReadFile(other.path)
	mustSucceed(t, err)
	mustSucceed(t, os.WriteFile(n.path, text, 0o600))
	check("of another node", n.mustTree(t))

	mustSucceed(t, os.Remove(n.path))
	foreign, err := transparency.Open(other.Events(), n.path, n.Node(), discard) // the hashes of another log under the id of this node
	mustSucceed(t, err)
	_, err = foreign.Root(t.Context(), 1400)
	mustSucceed(t, err)
	mustSucceed(t, foreign.Close())
	check("of another log", n.mustTree(t))
}

// TestArchivedEvents holds that a tree outlives the events. Archived events are read from their archive. If that is missing, their hashes
// are kept. Without the hashes, the tree names the archive.
func TestArchivedEvents(t *testing.T) {
	n := mustNode(t, 1300)
	key, err := store.OpenSigningKey(filepath.Join(t.TempDir(), "key.pem"))
	mustSucceed(t, err)
	const last = 700
	ref, err := n.Events().Archive(t.Context(), last, key)
	mustSucceed(t, err)
	mustSucceed(t, store.WriteSnapshot(n.options.SnapshotDir, last, n.chains[last-1], n.Archives().Known(), key, func(w io.Writer) error {
		_, err := io.WriteString(w, "{}\n")
		return err
	}))
	mustSucceed(t, n.TakeSnapshot(last))
	mustSucceed(t, n.Events().DropArchived(t.Context(), last, n.chains[last-1]))
	if n.Events().First() != last+1 {
		t.Fatalf("the log begins at %d", n.Events().First())
	}
	tree := n.mustTree(t)
	if got, err := tree.Root(t.Context(), 1300); err != nil || got != rootOf(n.chains) {
		t.Errorf("with the archive: got %v, %v", got, err)
	}
	if _, err := tree.Tile(t.Context(), 0, 1, 256); err != nil {
		t.Errorf("an archived tile: %v", err)
	}
	archive := filepath.Join(n.options.ArchiveDir, ref.File)
	mustSucceed(t, os.Rename(archive, archive+".away"))
	tree = n.mustTree(t)
	if got, err := tree.Root(t.Context(), 1300); err != nil || got != rootOf(n.chains) {
		t.Errorf("without the archive: got %v, %v", got, err)
	}
	if _, err := tree.Tile(t.Context(), 0, 1, 256); domain.CodeOf(err) != domain.NotFound || !strings.Contains(err.Error(), ref.File) {
		t.Errorf("a tile of a missing archive: %v", err)
	}
	if _, err := tree.Tile(t.Context(), 0, 3, 256); err != nil {
		t.Errorf("a tile behind the archive: %v", err)
	}
	mustSucceed(t, os.Remove(n.path))
	if _, err := n.mustTree(t).Root(t.Context(), 1300); err == nil || !strings.Contains(err.Error(), ref.File) {
		t.Errorf("without archive and hashes: %v", err)
	}
	mustSucceed(t, os.Rename(archive+".away", archive))
	if got, err := n.mustTree(t).Root(t.Context(), 1300); err != nil || got != rootOf(n.chains) {
		t.Errorf("with the archive again: got %v, %v", got, err)
	}
}

func TestProof(t *testing.T) {
	n := mustNode(t, 1300)
	tree := n.mustTree(t)
	key, err := transparency.NewKey(transparency.Origin(n.Node()), make([]byte, 32))
	mustSucceed(t, err)
	log := &transparency.Log{Tree: tree, Key: key}
	checkpoint, err := log.Checkpoint(t.Context())
	mustSucceed(t, err)
	for _, span := range [][2]uint64{{1, 1}, {256, 256}, {257, 257}, {1300, 1300}, {1, 1300}, {250, 600}} {
		p, err := tree.Prove(t.Context(), span[0], span[1], checkpoint)
		mustSucceed(t, err)
		text, err := json.Marshal(p)
		mustSucceed(t, err)
		if p, err = transparency.ReadProof(text); err == nil {
			_, err = p.Check(key.Verifier())
		}
		if err != nil {
			t.Errorf("events %d to %d: %v", span[0], span[1], err)
		}
	}
	for _, span := range [][2]uint64{{0, 1}, {2, 1}, {1300, 1301}} {
		if _, err := tree.Prove(t.Context(), span[0], span[1], checkpoint); domain.CodeOf(err) != domain.Invalid {
			t.Errorf("events %d to %d: %v", span[0], span[1], err)
		}
	}
	other, err := transparency.NewKey(transparency.Origin(n.Node()), append(make([]byte, 31), 1))
	mustSucceed(t, err)
	for what, change := range map[string]func(p *transparency.Proof){
		"another payload":     func(p *transparency.Proof) { p.Events[1].Data += " " },
		"another actor":       func(p *transparency.Proof) { p.Events[0].Headers["Ledge-Actor"] = "user:eve" },
		"another header":      func(p *transparency.Proof) { p.Events[0].Headers["Note"] = "reviewed" },
		"another past":        func(p *transparency.Proof) { p.Before = hex.EncodeToString(make([]byte, 32)) },
		"another place":       func(p *transparency.Proof) { p.Events[0].Seq, p.Events[1].Seq = 8, 9 },
		"a gap":               func(p *transparency.Proof) { p.Events[1].Seq = 9 },
		"an event less":       func(p *transparency.Proof) { p.Events = p.Events[:1] },
		"no event":            func(p *transparency.Proof) { p.Events = nil },
		"another path":        func(p *transparency.Proof) { p.Inclusion[0][0] ^= 1 },
		"another checkpoint":  func(p *transparency.Proof) { p.Checkpoint = strings.Replace(p.Checkpoint, "\n1300\n", "\n1301\n", 1) },
		"a foreign signature": func(p *transparency.Proof) { p.Checkpoint = signAgain(t, other, p.Checkpoint) },
	} {
		p, err := tree.Prove(t.Context(), 7, 8, checkpoint)
		mustSucceed(t, err)
		change(p)
		if _, err := p.Check(key.Verifier()); !errors.Is(err, transparency.ErrNotProven) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// signAgain signs the content of a checkpoint with another key.
func signAgain(t *testing.T, key *transparency.Key, checkpoint string) string {
	t.Helper()
	c, err := transparency.ParseCheckpoint(checkpoint)
	mustSucceed(t, err)
	text, err := key.Sign(c)
	mustSucceed(t, err)
	return text
}

func TestParsePlace(t *testing.T) {
	for path, want := range map[string]transparency.Place{
		"0/000": {Level: 0, Width: 256}, "1/000.p/3": {Level: 1, Width: 3}, "entries/x001/x234/067": {Level: -1, N: 1234067, Width: 256},
		"63/x001/000.p/255": {Level: 63, N: 1000, Width: 255}, "entries/000.p/1": {Level: -1, Width: 1},
	} {
		if got, err := transparency.ParsePlace(path); err != nil || got != want {
			t.Errorf("%s: got %+v, %v", path, got, err)
		}
	}
	for _, path := range []string{
		"", "0", "0/", "0/0", "0/00", "00/000", "0/1234", "0/x000/001", "0/000.p/0", "0/000.p/256", "0/000.p/03", "64/000", "-1/000",
		"data/000", "0/000/", "/0/000", "entries", "0/000.p/", "0/../000", "0/x001/x001/x001/x001/x001/x001/x001/x001/001",
	} {
		if got, err := transparency.ParsePlace(path); domain.CodeOf(err) != domain.NotFound {
			t.Errorf("%q: got %+v, %v", path, got, err)
		}
	}
}

// TestOldLog makes the tree of a log that is there already: until the tree is nearly made, requests are told how far it is.
func TestOldLog(t *testing.T) {
	n := mustNode(t, 1300)
	tree := n.mustTree(t)
	tree.SetPiece(2)
	const far = "the Merkle tree has 0 of 1280 events"
	if _, err := tree.Root(t.Context(), 1300); domain.CodeOf(err) != domain.Unavailable || !strings.HasPrefix(err.Error(), far) {
		t.Errorf("before it is made: %v", err)
	}
	if got, err := tree.Root(t.Context(), 600); err != nil || got != rootOf(n.chains[:600]) {
		t.Errorf("a small tree: got %v, %v", got, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error)
	go func() { done <- tree.KeepUp(ctx) }()
	for {
		got, err := tree.Root(ctx, 1300)
		if err == nil && got == rootOf(n.chains) {
			break
		}
		if domain.CodeOf(err) != domain.Unavailable {
			t.Fatalf("while it is made: got %v, %v", got, err)
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// BenchmarkGrow measures the work beside the appends, for one event.
func BenchmarkGrow(b *testing.B) {
	n := mustNode(b, 20_000)
	events := 0
	for b.Loop() {
		mustSucceed(b, os.RemoveAll(n.path))
		tree, err := transparency.Open(n.Events(), n.path, n.Node(), discard)
		mustSucceed(b, err)
		mustSucceed(b, tree.Grow(b.Context()))
		mustSucceed(b, tree.Close())
		events += 20_000
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
}

// TestDamagedEvent holds that a tree never has the hash of an event that is damaged on the disk, or of one that is missing.
func TestDamagedEvent(t *testing.T) {
	n := mustNode(t, 1300)
	tree := n.mustTree(t)
	list, err := filepath.Glob(filepath.Join(n.options.Dir, "jetstream", "*", "streams", n.Events().Name(), "msgs", "1.blk"))
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	text, err := os.ReadFile(list[0])
	mustSucceed(t, err)
	at := strings.Index(string(text), `"name":"a-600"`)
	for what, change := range map[string]func(b []byte) []byte{
		"altered": func(b []byte) []byte { b[at+8] ^= 1; return b },
		"missing": func(b []byte) []byte { return b[:at] },
	} {
		mustSucceed(t, os.WriteFile(list[0], change([]byte(string(text))), 0o600))
		if _, err := tree.Root(t.Context(), 1300); !store.IsDamage(err) {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := tree.Tile(t.Context(), 0, 2, 256); !store.IsDamage(err) {
			t.Errorf("%s: a tile: %v", what, err)
		}
	}
	mustSucceed(t, os.WriteFile(list[0], text, 0o600))
	if got, err := tree.Root(t.Context(), 1300); err != nil || got != rootOf(n.chains) {
		t.Errorf("whole again: got %v, %v", got, err)
	}
}
