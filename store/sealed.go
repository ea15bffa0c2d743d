package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"

	"ledge/store/osfile"
)

// A sealed file is an archive or a snapshot: a header, JSON lines, and a seal with digest and signature. It is one Zstandard
// stream, with header and seal in skippable frames, so that `zstd -dc` prints the lines. DESIGN.md gives the layout.
const (
	skippable  = 0x184d2a50 // little-endian, and then the length: begins a frame that decompressors skip
	frameHead  = 8
	sealBytes  = 1024 // of the seal with its frame head
	maxHeader  = 8 << 20
	maxLine    = 256 << 20 // bytes: a message of 32 MiB in which every byte is escaped
	zstdWindow = 1 << 20
)

// seal ends a sealed file.
type seal struct {
	// SHA256 is the digest, in hex, of all bytes before the seal.
	SHA256 string `json:"sha256"`
	// Signed is the text that is signed; it ends with the digest.
	Signed    string `json:"signed"`
	PublicKey string `json:"publicKey"`
	Signature string `json:"signature"`
}

// text returns the seal as it stands in the file: JSON, spaces and a newline.
func (s seal) text() ([]byte, error) {
	text, err := json.Marshal(s)
	room := sealBytes - frameHead - 1 - len(text)
	if err != nil || room < 0 {
		return nil, errors.Join(err, fmt.Errorf("seal of %d bytes is too long", len(text)))
	}
	return append(append(text, bytes.Repeat([]byte{' '}, room)...), '\n'), nil
}

// statement returns what the seal of a file says beside its digest.
type statement interface{ statement() string }

// sealedWriter writes a sealed file under a temporary name. Close gives it its own.
type sealedWriter struct {
	path   string
	header statement
	key    *SigningKey
	file   *os.File
	digest hash.Hash
	body   *zstd.Encoder
	err    error
}

func createSealed(path string, header statement, key *SigningKey) (*sealedWriter, error) {
	text, err := json.Marshal(header)
	if err != nil {
		return nil, err
	}
	if len(text) >= maxHeader {
		return nil, fmt.Errorf("%s: header of %d bytes; at most %d are possible", path, len(text), maxHeader)
	}
	f, err := os.OpenFile(path+osfile.Unfinished, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	w := &sealedWriter{path: path, header: header, key: key, file: f, digest: sha256.New()}
	out := io.MultiWriter(f, w.digest)
	w.body, err = zstd.NewWriter(out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(zstdWindow))
	if err == nil {
		_, err = out.Write(frame(append(text, '\n')))
	}
	if err != nil {
		w.abandon(err)
		return nil, err
	}
	return w, nil
}

// frame returns a skippable frame.
func frame(content []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, skippable)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(content)))
	return append(b, content...)
}

// Write implements io.Writer, for the lines.
func (w *sealedWriter) Write(b []byte) (n int, err error) {
	if w.err == nil {
		n, w.err = w.body.Write(b)
	}
	return n, w.err
}

// abandon removes what was written.
func (w *sealedWriter) abandon(err error) {
	_ = osfile.Publish(w.file, w.path, errors.Join(errors.New("given up"), err))
}

// finish seals the file, makes it durable, reads it back with check, and only then gives it its name. It returns the digest.
func (w *sealedWriter) finish(check func(*sealedReader) error) (digest string, err error) {
	err = errors.Join(w.err, w.body.Close())
	if err != nil {
		w.abandon(err)
		return "", err
	}
	digest = hex.EncodeToString(w.digest.Sum(nil))
	s := seal{SHA256: digest, Signed: w.header.statement() + " " + digest, PublicKey: w.key.Public()}
	s.Signature = w.key.sign(s.Signed)
	text, err := s.text()
	if err == nil {
		_, err = w.file.Write(frame(text))
	}
	if err == nil {
		err = w.file.Sync()
	}
	if err == nil {
		err = readBack(w.file.Name(), check)
	}
	return digest, osfile.Publish(w.file, w.path, err)
}

func readBack(path string, check func(*sealedReader) error) error {
	r, err := openSealed(path)
	if err != nil {
		return err
	}
	defer r.close()
	return check(r)
}
