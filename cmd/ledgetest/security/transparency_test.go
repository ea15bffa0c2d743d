package security

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"ledge/cmd/ledgetest"
)

// follower follows the log of a node with the client of Go's checksum database, over HTTP. It knows nothing of Ledge but a URL and a key.
type follower struct {
	p     *ledgetest.Node
	key   note.Verifier
	asked map[string]bool // the tiles
}

func newFollower(p *ledgetest.Node) *follower {
	p.TB.Helper()
	key, errs, code := ledgetest.Run(p.TB, "key", "--data-dir", p.Dir)
	v, err := note.NewVerifier(strings.TrimSpace(key))
	if err != nil || code != 0 {
		p.TB.Fatalf("ledge key: %q, %d %s, %v", key, code, errs, err)
	}
	return &follower{p: p, key: v, asked: map[string]bool{}}
}

// head returns the tree of the checkpoint that the node has now.
func (f *follower) head() (tree tlog.Tree) {
	f.p.TB.Helper()
	a := f.p.Call("GET", f.p.Metadata+"/api/v2/ledger/checkpoint", "", "")
	fresh := a.Header.Get("Content-Type") == "text/plain; charset=utf-8" && a.Header.Get("Cache-Control") == "no-cache"
	if a.Status != http.StatusOK || !fresh {
		f.p.TB.Fatalf("checkpoint: %d %v %s", a.Status, a.Header, a.Body)
	}
	n, err := note.Open([]byte(a.Body), note.VerifierList(f.key))
	if err != nil {
		f.p.TB.Fatalf("%v: %s", err, a.Body)
	}
	lines := strings.Split(n.Text, "\n")
	size, err := strconv.ParseInt(lines[1], 10, 64)
	root, failed := base64.StdEncoding.DecodeString(lines[2])
	if err != nil || failed != nil || lines[0] != f.key.Name() || len(lines) != 4 || len(root) != sha256.Size {
		f.p.TB.Fatalf("checkpoint %q: %v, %v", n.Text, err, failed)
	}
	return tlog.Tree{N: size, Hash: tlog.Hash(root)}
}

// Height implements tlog.TileReader.
func (f *follower) Height() int { return 8 }

// SaveTiles implements tlog.TileReader.
func (f *follower) SaveTiles([]tlog.Tile, [][]byte) {}

// ReadTiles implements tlog.TileReader.
func (f *follower) ReadTiles(tiles []tlog.Tile) (data [][]byte, err error) {
	for _, t := range tiles {
		path := strings.TrimPrefix(t.Path(), "tile/8/")
		f.asked[path] = true
		data = append(data, []byte(f.tile(path, http.StatusOK).Body))
	}
	return data, nil
}

func (f *follower) tile(path string, want int) ledgetest.Answer {
	f.p.TB.Helper()
	a := f.p.Call("GET", f.p.Metadata+"/api/v2/ledger/tile/"+path, "", "")
	forever := a.Header.Get("Cache-Control") == "private, max-age=31536000, immutable" &&
		a.Header.Get("Content-Type") == "application/octet-stream"
	if a.Status != want || forever != (want == http.StatusOK) {
		f.p.TB.Errorf("tile %s: %d %v %.200s, want %d", path, a.Status, a.Header, a.Body, want)
	}
	return a
}

// TestFollowedByGoChecksumDatabase has the client of Go's checksum database follow a node while it runs, over a kill and a start: each
// tree extends the ones before it, and each leaf of the bundles is in the tree.
func TestFollowedByGoChecksumDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := ledgetest.Start(t, dir)
	f := newFollower(p)
	trees := []tlog.Tree{f.head()}
	for i, n := range []int{1, 245, 700, 1} {
		if i == 2 { // the file of hashes is then as a crash leaves it
			p.Kill()
			p = ledgetest.Start(t, dir)
			f.p = p
		}
		a := p.Call("POST", p.Metadata+"/api/v2/device", "application/json", ledgetest.Ordinary(fmt.Sprint("d", i), n))
		ledgetest.AllAre(t, ledgetest.ItemsOf(t, a, n), 201)
		now := f.head()
		if grown := now.N - trees[len(trees)-1].N; grown != int64(n) {
			t.Errorf("%d devices are added, and the tree has %d more leaves", n, grown)
		}
		reader := tlog.TileHashReader(now, f)
		for _, old := range trees {
			proof, err := tlog.ProveTree(now.N, old.N, reader)
			if err == nil {
				err = tlog.CheckTree(proof, now.N, now.Hash, old.N, old.Hash)
			}
			if err != nil {
				t.Errorf("the tree of %d leaves does not extend the tree of %d: %v", now.N, old.N, err)
			}
		}
		trees = append(trees, now)
	}
	end := trees[len(trees)-1]
	for n := range end.N / 256 {
		f.checkBundle(end, n, 256)
	}
	f.checkBundle(end, end.N/256, int(end.N%256))
	for _, path := range []string{"0/000", "1/000.p/3", "0/003.p/" + fmt.Sprint(end.N%256)} {
		if !f.asked[path] {
			t.Errorf("tile %s was not asked for; the tree has %d leaves", path, end.N)
		}
	}
	for _, path := range []string{"0/004", "0/003", "0/003.p/255", "1/000", "2/000.p/1", "entries/003", "entries/004", "0/0", "x"} {
		f.tile(path, http.StatusNotFound)
	}
	last := ledgetest.Verify(t, dir)
	if int64(last) != end.N {
		t.Errorf("the log has %d events, and the tree %d leaves", last, end.N)
	}
	if code := p.Stop(); code != 0 {
		t.Errorf("stop: %d\n%s", code, p.Log)
	}
}

// checkBundle holds that the entries of a bundle are the leaves of a tree.
func (f *follower) checkBundle(tree tlog.Tree, n int64, w int) {
	f.p.TB.Helper()
	path := fmt.Sprintf("entries/%03d", n)
	if w < 256 {
		path += fmt.Sprintf(".p/%d", w)
	}
	bundle := f.tile(path, http.StatusOK).Body
	reader := tlog.TileHashReader(tree, f)
	for i := range int64(w) {
		size := 256*int(bundle[0]) + int(bundle[1])
		leaf := tlog.RecordHash([]byte(bundle[2 : 2+size]))
		bundle = bundle[2+size:]
		proof, err := tlog.ProveRecord(tree.N, n*256+i, reader)
		if err == nil {
			err = tlog.CheckRecord(proof, tree.N, tree.Hash, n*256+i, leaf)
		}
		if err != nil {
			f.p.TB.Fatalf("leaf %d: %v", n*256+i, err)
		}
	}
	if bundle != "" {
		f.p.TB.Errorf("%s has %d bytes behind its %d leaves", path, len(bundle), w)
	}
}
