package store

import (
	"bufio"
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
)

// sealedReader reads a sealed file. The digest is known to be right only when end has returned no error. A caller that uses
// lines before that verifies them by other means.
type sealedReader struct {
	path   string
	file   *os.File
	head   json.RawMessage
	seal   seal
	digest hash.Hash
	raw    io.Reader // the compressed lines, on their way into digest
	zstd   *zstd.Decoder
	lines  *bufio.Reader
}

// errSealed is in the chain of errors for a file that is not as it was sealed.
var errSealed = errors.New("not as it was sealed")

func (r *sealedReader) fault(format string, args ...any) error {
	return fmt.Errorf("%s: %w: %s", r.path, errSealed, fmt.Sprintf(format, args...))
}

// openSealed reads header and seal of a file.
func openSealed(path string) (*sealedReader, error) {
	r := &sealedReader{path: path, digest: sha256.New()}
	info, err := os.Stat(path)                  // an archive may be a link to another disk
	if err == nil && !info.Mode().IsRegular() { // a FIFO would make the open hang
		err = r.fault("it is not a regular file")
	}
	if err != nil {
		return nil, err
	}
	if r.file, err = os.Open(path); err != nil {
		return nil, err
	}
	if err := r.open(info.Size()); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *sealedReader) open(size int64) error {
	head, err := r.frame(0, maxHeader)
	if err != nil {
		return err
	}
	tail, err := r.frame(size-sealBytes, sealBytes)
	if err != nil {
		return err
	}
	start := int64(frameHead + len(head))
	if len(tail) != sealBytes-frameHead || start > size-sealBytes {
		return r.fault("it has no seal at its end; it is cut off, or its writing was not finished")
	}
	if err := json.Unmarshal(tail, &r.seal); err != nil {
		return r.fault("its seal is not readable: %v", err)
	}
	if want, err := r.seal.text(); err != nil || !bytes.Equal(want, tail) {
		return r.fault("its seal is not as Ledge writes it")
	}
	if !json.Valid(head) {
		return r.fault("its header is not readable")
	}
	r.head = head
	_, _ = r.digest.Write(frame(head))
	r.raw = io.TeeReader(io.NewSectionReader(r.file, start, size-sealBytes-start), r.digest)
	r.zstd, err = zstd.NewReader(r.raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(8*zstdWindow))
	if err != nil {
		return r.fault("%v", err)
	}
	r.lines = bufio.NewReaderSize(r.zstd, 64<<10)
	return nil
}

// frame reads the content of a skippable frame at an offset.
func (r *sealedReader) frame(at int64, most uint32) ([]byte, error) {
	head := make([]byte, frameHead)
	if at < 0 {
		return nil, r.fault("it is too short")
	}
	if _, err := r.file.ReadAt(head, at); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(head[4:])
	if binary.LittleEndian.Uint32(head) != skippable || n > most {
		return nil, r.fault("at byte %d is not a frame of at most %d bytes", at, most)
	}
	content := make([]byte, n)
	if _, err := r.file.ReadAt(content, at+frameHead); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, r.fault("the frame at byte %d is cut off", at)
		}
		return nil, err
	}
	return content, nil
}

// line returns the next line without its end; io.EOF after the last.
func (r *sealedReader) line() ([]byte, error) {
	var line []byte
	for {
		part, err := r.lines.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return bytes.TrimSuffix(line, []byte{'\n'}), nil
		case errors.Is(err, bufio.ErrBufferFull) && len(line) < maxLine:
		case errors.Is(err, io.EOF) && len(line) == 0:
			return nil, io.EOF
		default:
			return nil, r.fault("a line is cut off or longer than %d bytes: %v", maxLine, err)
		}
	}
}

// end reads what is left and checks that digest and signature are right; header is the decoded header.
func (r *sealedReader) end(header statement) error {
	if _, err := io.Copy(io.Discard, r.lines); err != nil {
		return r.fault("%v", err)
	}
	if _, err := io.Copy(io.Discard, r.raw); err != nil {
		return err
	}
	if got := hex.EncodeToString(r.digest.Sum(nil)); got != r.seal.SHA256 {
		return r.fault("its SHA-256 is %s, and its seal says %s", got, r.seal.SHA256)
	}
	return r.signature(header)
}

// signature checks that the seal says what the header does, and is signed.
func (r *sealedReader) signature(header statement) error {
	if want := header.statement() + " " + r.seal.SHA256; r.seal.Signed != want {
		return r.fault("its seal is of %q, and its header says %q", r.seal.Signed, want)
	}
	if !signed(r.seal.PublicKey, r.seal.Signed, r.seal.Signature) {
		return r.fault("its signature is not by the public key %q", r.seal.PublicKey)
	}
	return nil
}

func (r *sealedReader) close() {
	if r.zstd != nil {
		r.zstd.Close()
	}
	_ = r.file.Close()
}
