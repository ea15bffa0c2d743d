package payloads

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"ledge/store/osfile"
)

// paced gives its bytes in portions of the sizes, again and again.
type paced struct {
	left  []byte
	sizes []int
	reads int
	ends  bool // with its last bytes, not after them
}

func (p *paced) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.left[:min(p.sizes[p.reads%len(p.sizes)], len(p.left))])
	p.left, p.reads = p.left[n:], p.reads+1
	if p.ends && len(p.left) == 0 {
		return n, io.EOF
	}
	return n, nil
}

func sample(size int) []byte {
	body := make([]byte, size)
	for i := range body {
		body[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return body
}

// Whatever the pace, and whether pieces are written direct or not, what is kept is what came.
func TestPutAtAnyPace(t *testing.T) {
	const all = 1 << 30
	for _, size := range []int{smallBuffer, smallBuffer + largeBuffer, 3*largeBuffer - 1, 3 * largeBuffer, 1_000_000} {
		for _, sizes := range [][]int{{all}, {3900, all}, {all, all, all, 100}, {smallBuffer, 5000}, {1, 70_000}, {osfile.DirectAlign}} {
			body := sample(size)
			f := mustOpen(t)
			digest, n, err := f.Put(t.Context(), &paced{left: body, sizes: sizes}, all)
			if err != nil || n != int64(size) {
				t.Fatalf("%d bytes by %v: %d, %v", size, sizes, n, err)
			}
			sum := sha256.Sum256(body)
			if got, err := os.ReadFile(f.path(digest)); err != nil || !bytes.Equal(got, body) || digest != hex.EncodeToString(sum[:]) {
				t.Errorf("%d bytes by %v: kept %d others as %s, %v", size, sizes, len(got), digest, err)
			}
		}
	}
}

func mustCreate(tb testing.TB) *os.File {
	tb.Helper()
	file, err := os.Create(filepath.Join(tb.TempDir(), "file"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { file.Close() })
	return file
}

// Large aligned pieces are written direct, but for the bytes that fill no block; what is not aligned is not.
func TestOutputIsDirect(t *testing.T) {
	file := mustCreate(t)
	if err := osfile.SetDirect(file, true); err != nil {
		t.Skip("the test needs a temporary folder that takes direct writes (O_DIRECT), as ext4 and XFS do; set TMPDIR to one:", err)
	}
	piece := osfile.Aligned(2 * directLeast)
	for _, test := range []struct {
		name  string
		piece []byte
		want  bool
	}{
		{"a large one", piece, true}, {"a small one", piece[:osfile.DirectAlign], false}, {"a large one again", piece, true},
		{"one that ends within a block", piece[:directLeast+1], false}, {"one that begins there", piece, false},
	} {
		o := output{file: file, isDirect: true}
		if info, err := file.Stat(); err == nil {
			o.at = info.Size()
		}
		n, err := o.Write(test.piece)
		if n != len(test.piece) || err != nil || o.isDirect != test.want || o.refused {
			t.Errorf("%s: %d, %v, direct %v, refused %v", test.name, n, err, o.isDirect, o.refused)
		}
	}
}

// A body that trickled for a while is written direct again when it comes fast.
func TestPourAlignsWhatIsFast(t *testing.T) {
	o := output{file: mustCreate(t)}
	if err := osfile.SetDirect(o.file, true); err != nil {
		t.Skip("the test needs a temporary folder that takes direct writes (O_DIRECT), as ext4 and XFS do; set TMPDIR to one:", err)
	}
	o.isDirect = true
	body := sample(4 * largeBuffer)
	slow := &paced{left: body[:smallBuffer+5000], sizes: []int{smallBuffer, 5000}}
	if _, err := newBuffers().pour(&o, sha256.New(), io.MultiReader(slow, bytes.NewReader(body[smallBuffer+5000:]))); err != nil || !o.isDirect {
		t.Errorf("err = %v, direct %v", err, o.isDirect)
	}
}

// Where direct writes are refused, ordinary ones do.
func TestOutputWithoutDirectWrites(t *testing.T) {
	file, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	o := output{file: file}
	if n, err := o.Write(osfile.Aligned(directLeast)); n != directLeast || err != nil || !o.refused || o.isDirect {
		t.Errorf("%d, %v, refused %v, direct %v", n, err, o.refused, o.isDirect)
	}
}

// A failure of the disk is what pour fails with, also at the end of the body.
func TestPourFailsWithItsWriter(t *testing.T) {
	broken := errors.New("broken")
	for _, size := range []int{1, smallBuffer + 1, largeBuffer, 3 * largeBuffer} {
		for _, ends := range []bool{false, true} {
			r := &paced{left: sample(size), sizes: []int{size}, ends: ends}
			if _, err := newBuffers().pour(failing{broken}, sha256.New(), r); !errors.Is(err, broken) {
				t.Errorf("%d bytes, the end with them %v: err = %v", size, ends, err)
			}
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
